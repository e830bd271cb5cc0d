import { agreementMark } from '../../drive/start/consent.ts';
import type { StartRequest } from '../../drive/start/prepare-contract.ts';
import { type PreparedContract, prepareContract } from '../../drive/start/prepare-contract.ts';
import { listThere, termsOf } from '../../drive/tdd/tdd-terms.ts';
import { START_TEXTS } from '../../drive/turn/messages.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { TddRecord } from '../../engine/schema/tdd.ts';
import { readContract } from '../../state/contract-store.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import type { readState } from '../../state/read-state.ts';
import { normaliseValidation } from '../../task/settings/build-contract.ts';
import { printable } from '../../term/paint.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { agrees } from '../ask.ts';
import type { CommandContext } from '../command.ts';
import { briefly, liveLoops, loopTable } from '../live-loops.ts';
import { startFlags } from '../start/start-request.ts';
import { onePath } from '../task-place.ts';

/** A loop that an agent has asked for, and the command that starts it as it was asked for. */
export interface AskedLoop {
  readonly context: CommandContext;
  readonly contract: Contract;
}

/**
 * The loop that `run --consent [NAME]` means: the one of that name, or the only one that awaits consent. What the agent
 * gave on its command line counts where the user gives nothing else. Throws RalphError where there is none, or several.
 */
export function askedLoop(called: CommandContext): AskedLoop {
  const { values } = called;
  const beside = ['task', 'path', 'resume', 'fresh', 'worktree', 'arg', 'tdd'].find((key) => values[key] !== undefined);
  if (beside !== undefined) {
    throw new RalphError('usage', `--consent starts a loop as it was asked for: it takes no --${beside}.`);
  }
  const files = awaiting(called);
  const stored = readContract(files);
  if (stored === null) throw new RalphError('contract-missing', START_TEXTS.noContract);
  const { contract } = stored;
  const given = startFlags(called);
  const asked = Object.entries(contract.flags).filter(([key]) => given[key] === undefined);
  const set = [...asked.map(([key, value]) => `${key}=${value}`), ...texts(values['set'])];
  const context: CommandContext = {
    ...called,
    files,
    positionals: [],
    values: {
      ...values,
      set,
      resume: true,
      loop: files.name ?? undefined,
      tdd: contract.tdd !== undefined || undefined,
    },
  };
  return { context, contract };
}

/**
 * Shows what would run and asks whether it may; without a terminal, and with --yes, the command itself is the answer.
 * Gives the mark of what was shown, or null for a no.
 */
export async function agree(
  { err, values, files, now }: CommandContext,
  contract: Contract,
  request: StartRequest,
): Promise<string | null> {
  const prepared = prepareContract(request);
  const list = contract.tdd === undefined ? null : listThere(files, now());
  err(agreementText(prepared, contract, list));
  const mark = agreementMark(prepared, list === null ? undefined : termsOf(list));
  if (values['yes'] === true || process.stdin.isTTY !== true) return mark;
  return (await agrees('Start it?')) ? mark : null;
}

function awaiting(called: CommandContext): LoopFiles {
  const { positionals, values, projectDir, env } = called;
  const word = onePath('run --consent', positionals);
  if (word !== null && values['loop'] !== undefined) throw new RalphError('usage', 'name the loop once.');
  const name = word ?? called.files.name;
  const waiting = liveLoops(called).filter(
    ({ found, files }) => files.projectDir === loopFiles(projectDir, null, env).projectDir && isAwaiting(found),
  );
  const meant = name === null ? waiting : waiting.filter(({ files }) => files.name === name);
  const [only, ...more] = meant;
  if (only === undefined) {
    const which = name === null ? 'no loop here awaits' : `there is no loop ${name} here that awaits`;
    throw new RalphError('no-loop', `${which} your consent. main.cjs list shows the loops of this project.`);
  }
  if (more.length === 0) return only.files;
  throw new RalphError(
    'usage',
    `${meant.length} loops await your consent. Say which one: main.cjs run --consent NAME.\n${loopTable(meant.map(briefly))}`,
  );
}

function isAwaiting(found: ReturnType<typeof readState>): boolean {
  // A router's loop stays with its session: main.cjs start --consent.
  return found.kind === 'loop' && found.state.status === 'awaiting-consent' && found.state.mode !== 'router';
}

/** What the user agrees to. The agent wrote most of it: nothing of it may rewrite what is read. */
function agreementText({ terms, resolved }: PreparedContract, asked: Contract, list: TddRecord | null): string {
  const { policy, settings } = resolved;
  const { maxCostUsd, maxTokens, maxTimeMs } = policy.budget;
  const limits = [
    `${policy.maxIterations} iterations`,
    ...(maxCostUsd === null ? [] : [`$${maxCostUsd}`]),
    ...(maxTokens === null ? [] : [`${maxTokens} tokens`]),
    ...(maxTimeMs === null ? [] : [`${Math.round(maxTimeMs / 60_000)} minutes`]),
  ];
  const rules = Object.values(terms.guardrails)
    .flat()
    .filter((rule) => rule !== null && rule !== false).length;
  const rows: [string, readonly string[]][] = [
    ['task', [terms.taskPath]],
    ['limits', [limits.join(', ')]],
    ['agent', [terms.agent === undefined ? 'Claude Code' : `the command: ${terms.agent}`]],
    ...(terms.agent === undefined ? [row('permissions', settings.permissionMode ?? "the client's own")] : []),
    ['must pass', normaliseValidation(terms.validation).map(({ run }) => run)],
    ['runs first', (terms.task?.commands ?? []).map(({ run }) => run)],
    ...(list === null ? [] : scenarioRows(list)),
    ['guardrails', [rules === 0 ? 'none' : `${rules}`]],
  ];
  const lines = rows.flatMap(([title, values]) =>
    (values.length === 0 ? ['nothing'] : values)
      .flatMap((value) => printable(value).split('\n'))
      .map((line, index) => `  ${(index === 0 ? title : '').padEnd(12)}${line}`),
  );
  const changed = [
    ...(terms.frontmatter === asked.frontmatter ? [] : ['  Its frontmatter has changed since it was asked for.']),
    ...(list === null || termsOf(list).hash === asked.tdd?.hash
      ? []
      : ['  Its list of scenarios is another one than when it was asked for.']),
  ];
  return ['An agent has asked for this loop:', ...lines, ...changed].join('\n');
}

/** The commands that prove them, each once, and how many scenarios there are. */
function scenarioRows({ scenarios, completed }: TddRecord): [string, readonly string[]][] {
  const commands = [...new Set(scenarios.map(({ run }) => run))];
  return [
    row('scenarios', `${scenarios.length}, of which ${completed.length} complete: main.cjs tdd status`),
    ['proved by', commands],
  ];
}

function row(title: string, value: string): [string, readonly string[]] {
  return [title, [value]];
}

function texts(values: CommandContext['values'][string]): string[] {
  return Array.isArray(values) ? values.map(String) : [];
}
