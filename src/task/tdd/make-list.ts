import { randomUUID } from 'node:crypto';
import { TDD_VERSION } from '../../engine/schema/constants.ts';
import type { TddRecord, TddScenario } from '../../engine/schema/tdd.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { scriptsOf } from '../pinned-scripts/contract-scripts.ts';
import type { WantedScenario } from './read-scenarios.ts';

export const DEFAULT_TIMEOUT_SECONDS = 60;
const MAX_SCENARIOS = 500;
const MAX_DESCRIPTION = 4_000;
const ID = /^\w[\w.-]{0,63}$/;

export interface ListTerms {
  readonly projectDir: string;
  readonly wanted: readonly WantedScenario[];
  readonly command: string | null;
  readonly timeoutSeconds: number | null;
  readonly consented: boolean;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly at: string;
}

/** Gives scenarios without an id one (`sc-001` and so on). Throws RalphError `task-invalid` with all problems. */
export function makeList(terms: ListTerms): TddRecord {
  const { wanted, at, consented } = terms;
  const problems: string[] = [];
  if (wanted.length > MAX_SCENARIOS) problems.push(`${wanted.length} scenarios are too many; at most ${MAX_SCENARIOS}`);
  const taken = new Set<string>();
  for (const { id } of wanted) {
    if (id === null) continue;
    if (!ID.test(id)) problems.push(`"${id}" is no id: letters, digits, ".", "_" and "-", at most 64`);
    else if (taken.has(id)) problems.push(`the id ${id} is there twice`);
    taken.add(id);
  }
  const scenarios = wanted.map((one, index) => scenario(one, index, terms, taken, problems));
  if (problems.length > 0) {
    throw new RalphError('task-invalid', `the list cannot be used:\n${problems.map((one) => `  ${one}`).join('\n')}`);
  }
  return {
    recordVersion: TDD_VERSION,
    listId: `tdd-${randomUUID()}`,
    createdAt: at,
    loopId: null,
    consented,
    scenarios,
    scripts: scriptsOfList(terms.projectDir, scenarios),
    environment: decidingEnvironment(terms.env),
    current: null,
    completed: [],
    log: [],
    broken: null,
  };
}

export function scriptsOfList(projectDir: string, scenarios: readonly TddScenario[]): Record<string, string> {
  return scriptsOf({ projectDir, taskPath: '', task: null, validation: scenarios, policy: { maxIterations: 1 } });
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
  if (proof?.includes('\0')) problems.push(`${named}: its command holds a NUL, which no program can be given`);
  if (description.length > MAX_DESCRIPTION) {
    problems.push(
      `${named}: its description has ${description.length} characters, and each prompt holds it; at most ${MAX_DESCRIPTION}`,
    );
  }
  const seconds = timeoutSeconds ?? given ?? DEFAULT_TIMEOUT_SECONDS;
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 3600) {
    problems.push(`${named}: a timeout of ${seconds} is none; whole seconds from 1 to 3600`);
  }
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

/** They decide which programs run and whether they do anything: with `SHELLOPTS=noexec` every command passes. */
const DECIDING = new RegExp(
  `^(?:${[
    // the system, and the locations of programs' settings
    ...['PATH', 'PATHEXT', 'HOME', 'USERPROFILE', 'XDG_CONFIG_\\w+', 'LD_\\w+', 'DYLD_\\w+'],
    // shells: BASH_FUNC_node%% is a function that replaces the program
    ...['SHELL', 'SHELLOPTS', 'BASHOPTS', 'BASH_ENV', 'ENV', 'ZDOTDIR', 'BASH_FUNC_.+'],
    ...['NODE_\\w+', 'npm_config_.+', 'MAKEFLAGS', 'MFLAGS', 'GNUMAKEFLAGS', 'MAKEFILES'],
    ...['PYTHON\\w+', 'PYTEST_\\w+', 'RUBY\\w+', 'GEM_\\w+', 'BUNDLE_\\w+', 'PERL\\w+', 'PHPRC', 'PHP_INI_SCAN_DIR'],
    ...['JAVA_\\w+', '_JAVA_OPTIONS', 'JDK_JAVA_OPTIONS', 'CLASSPATH', 'MAVEN_\\w+', 'GRADLE_\\w+', 'DOTNET_\\w+'],
    ...['GO(?:FLAGS|ROOT|PATH|ENV)', 'RUSTC\\w*', 'RUSTFLAGS', 'CARGO_\\w+'],
  ].join('|')})$`,
  'i',
);
/** Credentials are never stored. */
const CREDENTIAL = /auth|token|passw|secret|_key$/i;

type Environment = Readonly<Record<string, string | undefined>>;

const decides = (name: string): boolean => DECIDING.test(name) && !CREDENTIAL.test(name);

/** The environment to store with a list, of the user who consents. */
export function decidingEnvironment(env: Environment): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value !== undefined && decides(name) ? [[name, value]] : [])),
  );
}

/** Restores the environment of the consent, so that `PATH=./fake:$PATH` before a step has no effect. */
export function withDeciding(
  env: Environment,
  kept: Readonly<Record<string, string>>,
): Record<string, string | undefined> {
  const own = Object.entries(env).filter(([name]) => !decides(name));
  return { ...Object.fromEntries(own), ...kept };
}
