import { lstatSync, mkdirSync, readlinkSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckResult, Effect, EngineEvent } from '../../engine/events.ts';
import { planOf } from '../../engine/plan/attempt.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { PlanState } from '../../engine/schema/plan.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { modeOf, readRegularFile, realPathOf, removeIfThere, writeAtomically } from '../../state/files/regular-file.ts';
import { withLock } from '../../state/lock/lock.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { placesOf, viewOf } from '../../task/git/git-view.ts';
import { changeByGit, type GitChange, type GitOptions, partsOf, WITHOUT_HOOKS } from '../../task/git/run-git.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { progressPath } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import type { CommitIntent } from '../records/open-task-file.ts';
import type { PlanPart, TurnContext } from '../turn/turn.ts';
import { branchOf, FAST_FORWARD, type GitRun, userGit } from '../worktree/repository.ts';
import { PART_TEXTS } from './messages.ts';

/** The checks of a plan. They reject with the abort reason. */
export interface PlanChecks {
  readonly inProject: () => Promise<readonly CheckResult[]>;
  /** Runs them on a clean copy of a commit. */
  readonly on: (commit: string) => Promise<readonly CheckResult[]>;
}

export interface PlanPlace extends TurnContext {
  readonly contract: Contract;
  readonly state: () => LoopState;
  readonly signal: AbortSignal;
  /** Ids of the tasks done in this session, if this loop's state does not have them. */
  readonly session?: readonly string[];
  readonly dispatch: (event: EngineEvent) => readonly Effect[];
}

export function planIn({ state }: Pick<PlanPlace, 'state'>): PlanState {
  return planOf(state());
}

/** Returns the options of every git query: verification relies on answers under the settings of the start. */
export function gitOptions(place: Pick<PlanPlace, 'env' | 'signal' | 'files' | 'contract'>): GitOptions {
  const { env, signal, files, contract } = place;
  return { env, signal, view: viewOf(files, contract), sandbox: contract.sandbox };
}

/** Returns the options of every change by git: in the sandbox, which also confines programs that the repository names. */
export function changing({ env, files, contract }: PlanPlace): Omit<GitChange, 'words'> {
  const { projectDir: directory } = files;
  const { sandbox: terms } = contract;
  if (terms === undefined) return { directory, env };
  const view = viewOf(files, contract);
  const { top: writable, gitDir } = view ? placesOf(view) : { top: directory, gitDir: join(directory, '.git') };
  return { directory, env, sandbox: { terms, writable, readable: writable, gitDir } };
}

const LOCK_TRIES = 40;
const LOCK_MS = 250;

/**
 * Runs git where a task is worked on, and retries for ten seconds while another git holds the index. Returns its output, trimmed.
 * Throws RalphError `refused` with git's error.
 */
export async function git(place: PlanPlace, words: readonly string[], input = ''): Promise<string> {
  for (let tries = 0; ; tries++) {
    const done = await changeByGit({ ...changing(place), words, input });
    if (done.ok) return done.text.trim();
    if (tries === LOCK_TRIES || !done.said.includes('index.lock')) throw new RalphError('refused', done.said);
    await sleep(LOCK_MS);
  }
}

export function progressOf({ contract }: Pick<PlanPlace, 'contract'>): string {
  return progressPath(contract.taskPath);
}

/** Returns all names by which git may know plan and progress file, links resolved, relative to the project. */
export function ownPaths(projectDir: string, planPath: string): string[] {
  const own = [planPath, progressPath(planPath)];
  const root = realPathOf(projectDir);
  const behind = own.flatMap((path) => {
    const folder = realPathOf(join(projectDir, dirname(path)));
    return [folder === null ? null : join(folder, basename(path)), realPathOf(join(projectDir, path))];
  });
  const named = behind.flatMap((path) => {
    const from = path === null || root === null ? '..' : relative(root, path).split('\\').join('/');
    return from.startsWith('..') ? [] : [from];
  });
  return [...new Set([...own, ...named])];
}

/** Returns the target of a symbolic link as written; null if the path is not a link. */
export function linkText(path: string): string | null {
  const isLink = lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
  return isLink ? readlinkSync(path) : null;
}

/**
 * Returns the text of a plan in which a parallel loop's own task is open: before this loop commits it, only another program can
 * have ticked it.
 */
export function withOwnOpen({ part, contract }: PlanPlace, text: string): string {
  const only = part === undefined ? undefined : contract.policy.plan?.only;
  if (only === undefined) return text;
  const task = readPlan(text).tasks.find(({ id, status }) => status === 'done' && planKey(id) === planKey(only));
  return task === undefined ? text : `${text.slice(0, task.boxAt)} ${text.slice(task.boxAt + 1)}`;
}

/** Branch and files of the plan in the main project. */
export interface MainPlan {
  /** Commit of the plan's branch. */
  readonly tip: string;
  readonly plan: string;
  /** null if there is no progress file. */
  readonly progress: string | null;
}

export type PartPlace = PlanPlace & { readonly part: PlanPart };

/** Maximum wait for another loop that reads or writes them: each needs several git calls. */
const WAIT_MS = 60_000;

/** Reads a consistent version. Throws RalphError `refused` on another branch, `task-missing` without a plan. */
export function readMain(place: PartPlace): MainPlan {
  return alone(place, () => readNow(place));
}

function alone<T>({ part, env }: PartPlace, work: () => T): T {
  const { outsideDir } = loopFiles(part.mainDir, null, env);
  mkdirSync(outsideDir, { recursive: true, mode: 0o700 });
  return withLock(join(outsideDir, 'plan.lock'), work, WAIT_MS);
}

function gitInMain({ part, env }: PartPlace, words: readonly string[]): GitRun {
  return userGit(part.mainDir, [...WITHOUT_HOOKS, ...words], env);
}

function readNow(place: PartPlace): MainPlan {
  const { mainDir, branch } = place.part;
  const { taskPath } = place.contract;
  const current = branchOf(mainDir, place.env);
  const tip = gitInMain(place, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']).text.trim();
  if (current !== branch || tip === '') throw new RalphError('refused', PART_TEXTS.otherBranch(current, branch));
  const plan = readRegularFile(join(mainDir, taskPath));
  if (plan === null) throw new RalphError('task-missing', PART_TEXTS.noPlan(taskPath, mainDir));
  return { tip, plan, progress: readRegularFile(join(mainDir, progressPath(taskPath))) };
}

/** Returns whether the files at these paths of the main project are as the plan's branch has them. */
export function areCommitted(place: PartPlace, paths: readonly string[]): boolean {
  if (paths.length === 0) return true;
  const { ok, text } = gitInMain(place, ['--literal-pathspecs', 'status', '--porcelain', '--ignored', '--', ...paths]);
  return ok && text === '';
}

/**
 * Fast-forwards the plan's branch, checked out in the main project, to a commit of the worktree, with plan and progress file.
 * A reader without the lock sees complete texts, and a tick before its commit. Returns false, with the tick undone, if branch
 * or plan have changed. Can be repeated. Throws RalphError `refused` if git refuses.
 */
export function publishCommit(place: PartPlace, commit: string, intent: CommitIntent): boolean {
  return alone(place, () => publishNow(place, commit, intent));
}

function publishNow(place: PartPlace, commit: string, intent: CommitIntent): boolean {
  const { files, part, contract } = place;
  const main = readNow(place);
  if (gitInMain(place, ['merge-base', '--is-ancestor', commit, 'HEAD']).ok) return true;
  const [planPath, ownProgress] = [contract.taskPath, progressPath(contract.taskPath)];
  const [plan = null, progress = null] = [planPath, ownProgress].map((path) =>
    readRegularFile(join(files.projectDir, path)),
  );
  // A process killed here may have written them.
  const before = {
    plan: main.plan === plan ? intent.before : main.plan,
    progress: main.progress === null ? null : withoutEnd(main.progress, intent.entry),
  };
  const isKnown = before.plan === intent.before && progress?.startsWith(before.progress ?? '') === true;
  if (main.tip !== intent.parent || !isKnown) {
    writeTexts(place, before);
    return false;
  }
  writeTexts(place, { plan: plan ?? intent.after, progress });
  const paths = partsOf(gitInMain(place, ['ls-tree', '--name-only', '-z', commit, '--', planPath, ownProgress]).text);
  // git keeps files whose index entries match the commit.
  const staged = gitInMain(place, ['--literal-pathspecs', 'add', '--', ...paths]);
  const moved = staged.ok ? gitInMain(place, [...FAST_FORWARD, commit]) : staged;
  if (moved.ok) return true;
  writeTexts(place, before);
  gitInMain(place, ['--literal-pathspecs', 'reset', '--quiet', '--', ...paths]);
  throw new RalphError('refused', PART_TEXTS.notPublished(part.task, part.branch, moved.complaint));
}

function withoutEnd(text: string, end: string): string | null {
  if (!text.endsWith(end)) return text;
  return text.length === end.length ? null : text.slice(0, -end.length);
}

function writeTexts({ part, contract }: PartPlace, { plan, progress }: Omit<MainPlan, 'tip'>): void {
  const [planFile, progressFile] = [contract.taskPath, progressPath(contract.taskPath)].map((path) =>
    join(part.mainDir, path),
  ) as [string, string];
  if (progress === null) removeIfThere(progressFile);
  else if (readRegularFile(progressFile) !== progress) writeAtomically(progressFile, progress, modeOf(progressFile));
  if (readRegularFile(planFile) !== plan) writeAtomically(planFile, plan, modeOf(planFile));
}
