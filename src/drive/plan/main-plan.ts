import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  modeOf,
  pauseThread,
  readRegularFile,
  removeIfThere,
  writeAtomically,
} from '../../state/files/regular-file.ts';
import { withLock } from '../../state/lock/lock.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { NO_FILE } from '../../task/git/run-git.ts';
import { progressPath } from '../../task/task-file.ts';
import { RalphError } from '../../text/message.ts';
import type { CommitIntent } from '../records/open-task-file.ts';
import type { PlanPart } from '../turn/turn.ts';
import { branchOf, type GitRun, userGit } from '../worktree/repository.ts';
import { PART_TEXTS } from './messages.ts';
import type { PlanPlace } from './plan-place.ts';

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
const INDEX_TRIES = 40;
const INDEX_MS = 250;
const NO_PROGRAMS = ['-c', 'core.fsmonitor=false', '-c', `core.hooksPath=${NO_FILE}`];

/** Reads a consistent version. Throws RalphError `refused` on another branch, `task-missing` without a plan. */
export function readMain(place: PartPlace): MainPlan {
  return alone(place, () => readNow(place));
}

function alone<T>({ part, env }: PartPlace, work: () => T): T {
  const { outsideDir } = loopFiles(part.mainDir, null, env);
  mkdirSync(outsideDir, { recursive: true, mode: 0o700 });
  return withLock(join(outsideDir, 'plan.lock'), work, WAIT_MS);
}

/** Runs git in the main project, and retries while another git, such as the user's, holds the index. */
function git({ part, env }: PartPlace, words: readonly string[]): GitRun {
  for (let tries = 0; ; tries++) {
    const run = userGit(part.mainDir, [...NO_PROGRAMS, ...words], env);
    if (run.ok || tries === INDEX_TRIES || !run.complaint.includes('index.lock')) return run;
    pauseThread(INDEX_MS);
  }
}

function readNow(place: PartPlace): MainPlan {
  const { mainDir, branch } = place.part;
  const { taskPath } = place.contract;
  const current = branchOf(mainDir, place.env);
  const tip = git(place, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']).text.trim();
  if (current !== branch || tip === '') throw new RalphError('refused', PART_TEXTS.otherBranch(current, branch));
  const plan = readRegularFile(join(mainDir, taskPath));
  if (plan === null) throw new RalphError('task-missing', PART_TEXTS.noPlan(taskPath, mainDir));
  return { tip, plan, progress: readRegularFile(join(mainDir, progressPath(taskPath))) };
}

/** Returns whether the files at these paths of the main project are as the plan's branch has them. */
export function areCommitted(place: PartPlace, paths: readonly string[]): boolean {
  if (paths.length === 0) return true;
  const { ok, text } = git(place, ['--literal-pathspecs', 'status', '--porcelain', '--ignored', '--', ...paths]);
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
  if (git(place, ['merge-base', '--is-ancestor', commit, 'HEAD']).ok) return true;
  const [planPath, ownProgress] = [contract.taskPath, progressPath(contract.taskPath)];
  const [plan = null, progress = null] = [planPath, ownProgress].map((path) =>
    readRegularFile(join(files.projectDir, path)),
  );
  // A process that was killed here may have written them.
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
  const held = git(place, ['ls-tree', '--name-only', '-z', commit, '--', planPath, ownProgress]);
  const paths = held.text.split('\0').filter((path) => path !== '');
  // git keeps files whose index entries match the commit.
  const staged = git(place, ['--literal-pathspecs', 'add', '--', ...paths]);
  const moved = staged.ok ? git(place, ['merge', '--ff-only', '--quiet', commit]) : staged;
  if (moved.ok) return true;
  writeTexts(place, before);
  git(place, ['--literal-pathspecs', 'reset', '--quiet', '--', ...paths]);
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
