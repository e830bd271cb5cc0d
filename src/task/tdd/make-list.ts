import { randomUUID } from 'node:crypto';
import { TDD_VERSION } from '../../engine/schema/constants.ts';
import type { TddRecord, TddScenario } from '../../engine/schema/tdd.ts';
import { RalphError } from '../../text/message.ts';
import { decidingEnvironment } from '../commands/deciding-environment.ts';
import { contractPins, scriptsOf } from '../pinned-scripts/contract-scripts.ts';
import type { WantedScenario } from './read-scenarios.ts';
import { testFiles } from './test-files.ts';

export const DEFAULT_TIMEOUT_SECONDS = 60;
const MAX_SCENARIOS = 500;
const MAX_DESCRIPTION = 4_000;
const ID = /^\w[\w.-]{0,63}$/;

interface ListTerms {
  readonly projectDir: string;
  readonly wanted: readonly WantedScenario[];
  readonly command: string | null;
  readonly timeoutSeconds: number | null;
  readonly consented: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly at: string;
}

/** Creates a list; gives scenarios without an id one (`sc-001` and so on). Throws RalphError `task-invalid` with all problems. */
export function makeList(terms: ListTerms): TddRecord {
  const { wanted, at, consented } = terms;
  const problems: string[] = [];
  if (wanted.length > MAX_SCENARIOS) problems.push(`${wanted.length} scenarios are too many; at most ${MAX_SCENARIOS}`);
  const taken = new Set<string>();
  for (const { id } of wanted) {
    if (id === null) continue;
    if (!ID.test(id)) problems.push(`"${id}" is not a valid id: use at most 64 letters, digits, ".", "_" and "-"`);
    else if (taken.has(id)) problems.push(`the id ${id} occurs twice`);
    taken.add(id);
  }
  const scenarios = wanted.map((one, index) => scenario(one, index, terms, taken, problems));
  if (problems.length > 0)
    throw new RalphError('task-invalid', `the list cannot be used:\n${problems.map((one) => `  ${one}`).join('\n')}`);
  return {
    recordVersion: TDD_VERSION,
    listId: `tdd-${randomUUID()}`,
    createdAt: at,
    loopId: null,
    consented,
    scenarios,
    scripts: scriptsOfList(terms.projectDir, scenarios),
    tests: testFiles(terms.projectDir),
    environment: decidingEnvironment(terms.env),
    current: null,
    completed: [],
    log: [],
    broken: null,
  };
}

/** Hashes the scripts of a list. A red test may add a configuration that was absent; `withAbsent` pins it for later runs. */
export function scriptsOfList(
  projectDir: string,
  scenarios: readonly TddScenario[],
  withAbsent = false,
): Record<string, string> {
  const terms = { projectDir, taskPath: '', task: null, validation: scenarios, policy: { maxIterations: 1 } };
  return withAbsent ? contractPins(terms).scripts : scriptsOf(terms);
}

function scenario(
  { id, description, run, timeoutSeconds }: WantedScenario,
  index: number,
  { command, timeoutSeconds: given }: ListTerms,
  taken: Set<string>,
  problems: string[],
): TddScenario {
  const named = id ?? freeId(index + 1, taken);
  const proof = run ?? command;
  if (proof === null) problems.push(`${named} ("${description}") has no command that proves it: --command "…"`);
  if (proof?.includes('\0')) problems.push(`${named}: its command contains a NUL character, which no program accepts`);
  if (description.length > MAX_DESCRIPTION) {
    problems.push(
      `${named}: its description has ${description.length} characters, but at most ${MAX_DESCRIPTION} are allowed, because every prompt includes it`,
    );
  }
  const seconds = timeoutSeconds ?? given ?? DEFAULT_TIMEOUT_SECONDS;
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 3600)
    problems.push(`${named}: the timeout ${seconds} is invalid; use whole seconds from 1 to 3600`);
  return { id: named, description, run: proof ?? '', timeoutSeconds: seconds };
}

function freeId(number: number, taken: Set<string>): string {
  for (let next = number; ; next++) {
    const id = `sc-${String(next).padStart(3, '0')}`;
    if (taken.has(id)) continue;
    taken.add(id);
    return id;
  }
}
