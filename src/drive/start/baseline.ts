import { rmSync } from 'node:fs';
import { resolve } from 'node:path';
import type { CheckResult } from '../../engine/events.ts';
import { baselineOf } from '../../engine/policy/proof.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { Baseline } from '../../engine/schema/proof.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { type LoopFiles, readState } from '../../state/loop-files.ts';
import { withDeciding } from '../../task/commands/deciding-environment.ts';
import { whyNotRun } from '../../task/commands/missing-programs.ts';
import { type BaselineRun, runBaseline } from '../../task/commands/run-evidence.ts';
import { taskCommand } from '../../task/frontmatter/placeholders.ts';
import { splitFrontmatter } from '../../task/frontmatter/split-frontmatter.ts';
import { readGitPins } from '../../task/git/git-pins.ts';
import { passingView } from '../../task/git/git-view.ts';
import { filesThatDiffer, readStartFiles } from '../../task/progress/start-files.ts';
import { buildContract } from '../../task/settings/build-contract.ts';
import { hasTaskFolder, relativeTaskFolder } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import { commandGuard } from '../control/command-guard.ts';
import { SCENARIOS } from '../tdd/scenario-list.ts';
import { START_TEXTS } from '../turn/messages.ts';
import { hasBegun } from './beginning-state.ts';
import type { Prepared, StartBaseline } from './stages.ts';

export interface BaselineOptions {
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly onCheck?: (name: string) => void;
  /** Commit on whose clean copy the checks run; absent: where the contract says. */
  readonly commit?: string;
}

/**
 * Runs the checks of a loop that is about to start. Returns null if an agent has already worked on it, or if `mayRun` says
 * that the user has not agreed to what it runs. Throws RalphError with every problem, `refused` for checks that cannot run;
 * rejects with the abort reason. Leaves nothing behind in either case.
 */
export async function firstBaseline(
  { request, files, terms }: Prepared,
  options: BaselineOptions,
  mayRun: (contract: Contract) => boolean = () => request.consented,
): Promise<StartBaseline | null> {
  if (hasBegun(readState(files.state), request)) return null;
  const { contract } = buildContract({ ...terms, loopId: 'baseline' });
  return mayRun(contract) ? takeBaseline(files, contract, request.tdd === true, options) : null;
}

/** Returns results of checks that another process ran on the same tree; null if unknown or if an agent has worked. */
export async function givenBaseline(
  { request, files }: Prepared,
  baseline: Baseline | undefined,
): Promise<StartBaseline | null> {
  if (baseline === undefined || hasBegun(readState(files.state), request)) return null;
  const record = await readStartFiles(files.projectDir, null, { env: request.env });
  return { baseline, record: { files: record, written: [] }, evidence: [] };
}

/** Returns a baseline for the project's present files: a user at the start screen may have edited some since the checks. */
export async function baselineNow(
  { files, terms }: Prepared,
  { record, ...rest }: StartBaseline,
  options: Pick<BaselineOptions, 'env'>,
): Promise<StartBaseline> {
  return { ...rest, record: { ...record, files: await readStartFiles(files.projectDir, taskDirOf(terms), options) } };
}

/** Runs the checks of a contract, like `firstBaseline`. Returns null if there are none, or if they are not to run. */
export async function takeBaseline(
  files: LoopFiles,
  contract: Contract,
  isTdd: boolean,
  options: BaselineOptions,
): Promise<StartBaseline | null> {
  const { projectDir } = files;
  const git = { env: options.env, signal: options.signal };
  if (contract.skipsBaseline || !(isTdd || hasChecks(contract))) return null;
  const taskDir = taskDirOf(contract);
  const before = await readStartFiles(projectDir, taskDir, git);
  const { results, evidence, problems } = await runChecksNow(files, contract, options);
  if (problems.length > 0) throw new RalphError('refused', START_TEXTS.cannotRun(problems));
  const runsCommands = contract.validation.length > 0 || evidence.length > 0;
  const after = runsCommands ? await readStartFiles(projectDir, taskDir, git) : before;
  const written = await filesThatDiffer(projectDir, before, after, git);
  // The list is not yet done.
  const all = isTdd ? [{ name: SCENARIOS, outcome: 'failed', detail: '' } as const, ...results] : results;
  return { baseline: baselineOf(all), record: { files: after, written }, evidence };
}

function taskDirOf(terms: Parameters<typeof hasTaskFolder>[0]): string | null {
  const folder = hasTaskFolder(terms) ? relativeTaskFolder(terms.taskPath) : '.';
  return folder === '.' ? null : folder;
}

function hasChecks({ validation, task }: Contract): boolean {
  const gate = task?.gate === 'required' ? task : null;
  const accepted = gate?.commands.some(({ acceptance }) => acceptance) === true;
  return validation.length > 0 || accepted || (gate?.requiredOutputs.length ?? 0) > 0;
}

/** Results of all checks now; `problems` has, for each check that could not run at all, what would help. */
export interface ChecksNow extends BaselineRun {
  readonly problems: readonly string[];
}

/** Runs the checks of a contract once, whatever fails. Rejects with the abort reason; leaves nothing behind. */
export async function runChecksNow(
  files: LoopFiles,
  contract: Contract,
  { env, signal, onCheck, commit }: BaselineOptions,
): Promise<ChecksNow> {
  const { projectDir } = files;
  const folder = `${files.gitViews}.baseline`;
  try {
    const pins = contract.verifyIn ? await readGitPins(projectDir, { env, signal }) : null;
    const view = pins && passingView(folder, pins);
    const run = await runBaseline(contract, projectDir, {
      signal,
      env,
      iteration: 1,
      blockingRule: commandGuard(contract),
      ...(onCheck && { onCheck }),
      ...(contract.verifyIn && { copies: { root: files.copies, view, ...(commit && { commit }) } }),
    });
    return { ...run, problems: problemsOf(projectDir, contract, env, run.results) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Explains each check that could not run: an agent would work for a verdict that never comes. */
function problemsOf(
  projectDir: string,
  contract: Contract,
  env: NodeJS.ProcessEnv,
  results: readonly CheckResult[],
): string[] {
  const root = resolve(projectDir);
  const commands = [
    ...contract.validation.map((command) => ({ ...command, directory: root })),
    ...(contract.task?.commands ?? []).map((command) => ({ ...command, ...taskCommand(contract, root, command, 1) })),
  ];
  const deciding = contract.environment ? withDeciding(env, contract.environment) : env;
  const task = splitFrontmatter(readRegularFile(resolve(root, contract.taskPath)) ?? '').body;
  return results.flatMap((result) => {
    const { run = '', directory: dir = root } = commands.find(({ name }) => name === result.name) ?? {};
    return whyNotRun(result, { run }, { dir, env: deciding }, { ...contract, task }) ?? [];
  });
}

/** Returns the baseline of a loop that continues: the first one, or none if it is unknown. */
export function formerBaseline(former: Contract | null, loopId: string): Pick<Contract, 'baseline'> {
  return former?.loopId === loopId && former.baseline ? { baseline: former.baseline } : {};
}
