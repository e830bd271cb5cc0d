import { existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RalphError } from '../../core/ralph-error.ts';
import { withLock } from '../../state/lock.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { hideRuntimeDir } from '../../state/make-runtime-dir.ts';
import { WORKTREES } from '../../task/loop-directory.ts';
import { LOCK_WAIT } from '../lock-wait.ts';
import { changedFiles } from './changed-files.ts';
import { copyTask, isSame } from './copy-task.ts';
import { exclude } from './exclude.ts';
import { isRegistered, ownCommits, type Repository, repositoryOf, tipOf } from './repository.ts';
import { WORKTREE_TEXTS } from './texts.ts';
import { userGit } from './user-git.ts';
import { type WorktreePlace, worktreePlace } from './worktree-place.ts';
import {
  dropWorktreeRecord,
  isBeingMade,
  readWorktreeRecord,
  worktreeLock,
  writeWorktreeRecord,
} from './worktree-record.ts';

export interface WorktreeRequest {
  readonly projectDir: string;
  /** Of the loop, a LOOP_NAME. */
  readonly name: string;
  /** Relative to the project; null where a loop that lies in the worktree says it. */
  readonly taskPath: string | null;
  /** `refuse`: only a new one will do. `fresh`: a new loop may begin in one that is there. `resume`: it must be there. */
  readonly existing: 'resume' | 'fresh' | 'refuse';
  readonly env: NodeJS.ProcessEnv;
}

export interface MadeWorktree {
  readonly place: WorktreePlace;
  /** Whether its set-up has not been run to its end yet. */
  readonly needsSetUp: boolean;
  /** For the user. */
  readonly notices: readonly string[];
}

/**
 * The worktree of a loop, from the commit that the project stands at, on a branch of its own; or the one that is there,
 * as `existing` allows. One whose making was cut short is made anew: no loop ever was in it. Throws `refused` or
 * `usage` where anything of somebody's would be overwritten, and then nothing was changed.
 */
export function makeWorktree(request: WorktreeRequest): MadeWorktree {
  const { projectDir, name, env } = request;
  const repository = repositoryOf(projectDir, env);
  const place = worktreePlace(projectDir, name);
  mkdirSync(loopFiles(projectDir, name, env).outsideDir, { recursive: true, mode: 0o700 });
  return withLock(worktreeLock(projectDir, name, env), LOCK_WAIT, () => {
    const record = readWorktreeRecord(projectDir, name, env);
    if (record !== null && isBeingMade(record)) {
      throw new RalphError('refused', WORKTREE_TEXTS.busy(name, record.maker.pid));
    }
    if (record?.step === 'making') clearAway(request, place, record.hadBranch ? null : record.base);
    const registered = isRegistered(projectDir, place.dir, env);
    if (existsSync(place.dir)) {
      if (!registered) throw new RalphError('refused', WORKTREE_TEXTS.notOurs(place.dir));
      const needsSetUp = record?.step === 'made';
      // No loop was ever in it: there is nothing to go on with.
      if (needsSetUp && request.existing !== 'fresh') {
        throw new RalphError('refused', WORKTREE_TEXTS.notSetUp(name, place.dir));
      }
      if (request.existing === 'refuse') throw new RalphError('refused', WORKTREE_TEXTS.exists(name, place.dir));
      const notices = [WORKTREE_TEXTS.goesOn(place.branch, place.dir), ...taskNotices(request, place)];
      return { place, needsSetUp, notices };
    }
    if (request.existing === 'resume') throw new RalphError('no-loop', WORKTREE_TEXTS.nothingToResume(name));
    return makeNew(request, repository, place, registered);
  });
}

/** What a run that was killed in the middle left: nothing in it is anybody's work yet. */
function clearAway(
  { projectDir, name, env }: WorktreeRequest,
  { dir, branch }: WorktreePlace,
  base: string | null,
): void {
  userGit(projectDir, ['worktree', 'remove', '--force', '--force', dir], env);
  // A git whose caller was killed may still be writing.
  rmSync(dir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  if (base !== null && tipOf(projectDir, branch, env) === base) {
    userGit(projectDir, ['worktree', 'prune'], env);
    userGit(projectDir, ['branch', '-D', branch], env);
  }
  dropWorktreeRecord(projectDir, name, env);
}

function makeNew(
  { projectDir, name, taskPath, env }: WorktreeRequest,
  { commonDir, prefix, head }: Repository,
  place: WorktreePlace,
  registered: boolean,
): MadeWorktree {
  const { branch, dir } = place;
  const valid = userGit(projectDir, ['check-ref-format', '--branch', branch], env);
  if (!valid.ok) throw new RalphError('usage', WORKTREE_TEXTS.badBranch(branch));
  const hadBranch = refuseOwnWork(projectDir, branch, env);
  exclude(commonDir, `/${prefix}${WORKTREES}/`);
  writeWorktreeRecord(projectDir, name, env, { step: 'making', base: head, hadBranch });
  mkdirSync(dirname(dir), { recursive: true });
  // One whose folder somebody has removed by hand is still known to git.
  const words = ['worktree', 'add', '--quiet', ...(registered ? ['--force'] : []), hadBranch ? '-B' : '-b', branch];
  const added = userGit(projectDir, [...words, dir, head], env);
  if (!added.ok) {
    clearAway({ projectDir, name, taskPath, env, existing: 'refuse' }, place, hadBranch ? null : head);
    throw new RalphError('refused', WORKTREE_TEXTS.gitFailed(`the worktree ${dir} was to be made`, added.complaint));
  }
  hideRuntime(place, env);
  const copied = taskPath === null ? [] : copyTask(projectDir, place.projectDir, taskPath, env);
  writeWorktreeRecord(projectDir, name, env, { step: 'made', base: head, hadBranch });
  const short = head.slice(0, 8);
  const left = leftOut(projectDir, copied, env);
  const notices = [
    WORKTREE_TEXTS.begins(branch, dir, short),
    ...(copied.length === 0 ? [] : [WORKTREE_TEXTS.copied(copied)]),
    ...(left === 0 ? [] : [WORKTREE_TEXTS.leftOut(left, short)]),
  ];
  return { place, needsSetUp: true, notices };
}

/** Whether the branch is there, with nothing of its own: then it may begin at HEAD again. */
function refuseOwnWork(projectDir: string, branch: string, env: NodeJS.ProcessEnv): boolean {
  if (tipOf(projectDir, branch, env) === null) return false;
  const commits = ownCommits(projectDir, [`refs/heads/${branch}`], branch, env);
  if (commits > 0) throw new RalphError('refused', WORKTREE_TEXTS.branchLies(branch, commits));
  return true;
}

/** The loop's own state is no change of the branch, also where the project has committed nothing that says so. */
function hideRuntime({ projectDir, name }: WorktreePlace, env: NodeJS.ProcessEnv): void {
  hideRuntimeDir(loopFiles(projectDir, name, env));
}

function leftOut(projectDir: string, copied: readonly string[], env: NodeJS.ProcessEnv): number {
  const { changed, removed } = changedFiles(projectDir, env);
  return (
    changed.filter((path) => !copied.includes(path) && !path.startsWith('.claude/context/')).length + removed.length
  );
}

function taskNotices({ projectDir, taskPath }: WorktreeRequest, place: WorktreePlace): string[] {
  if (taskPath === null) return [];
  const [here, there] = [join(projectDir, taskPath), join(place.projectDir, taskPath)];
  return existsSync(here) && !isSame(here, there) ? [WORKTREE_TEXTS.taskDiffers(taskPath)] : [];
}
