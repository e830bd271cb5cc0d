import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { counted } from '../../engine/messages.ts';
import { withLock } from '../../state/lock/lock.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { LOCK_WAIT } from '../../state/with-state.ts';
import { RalphError } from '../../text/message.ts';
import { isSame } from './copy-task.ts';
import { WORKTREE_TEXTS } from './messages.ts';
import { askGit, changedFiles, isRegistered, ownCommits, tipOf, userGit } from './repository.ts';
import {
  dropWorktreeRecord,
  readFreeRecord,
  type WorktreePlace,
  worktreeLock,
  worktreePlace,
  writeWorktreeRecord,
} from './worktree-place.ts';

/**
 * Removes a worktree and its branch. Throws `refused` if work would be lost and `force` is false. Returns the branch's last
 * commit (`tip`) and the folder with the journals and archive of its loops (`kept`), each null if there was none.
 */
export function removeWorktree(
  projectDir: string,
  name: string,
  { force, env, at }: { readonly force: boolean; readonly env: NodeJS.ProcessEnv; readonly at: string },
) {
  const place = worktreePlace(projectDir, name);
  const { branch, dir } = place;
  const lock = worktreeLock(projectDir, name, env);
  mkdirSync(dirname(lock), { recursive: true, mode: 0o700 });
  return withLock(lock, LOCK_WAIT, () => {
    const record = readFreeRecord(projectDir, name, env);
    const registered = isRegistered(projectDir, dir, env);
    if (!registered && record === null) throw new RalphError('no-loop', WORKTREE_TEXTS.noWorktree(name));
    const { step = 'ready', base = '', hadBranch = false } = record ?? {};
    // An incomplete worktree holds no work, and a half-removed one lacks some of its files.
    const whole = step !== 'making' && step !== 'removing';
    const loss = whole ? lossText(worktreeLoss(projectDir, place, env), branch) : [];
    if (loss.length > 0 && !force) throw new RalphError('refused', WORKTREE_TEXTS.wouldLose(name, loss));
    const kept = step === 'removing' ? null : keepJournals(projectDir, place, env, at);
    if (step !== 'making') writeWorktreeRecord(projectDir, name, env, { step: 'removing', base, hadBranch });
    // git's own check would refuse copied files; ours has passed.
    const removed = registered ? userGit(projectDir, ['worktree', 'remove', '--force', '--force', dir], env) : null;
    rmSync(dir, { recursive: true, force: true });
    // A process that was killed here has left a part that git does not recognise as a worktree.
    if (removed?.ok === false) askGit(projectDir, ['worktree', 'prune'], env, `${dir} could not be removed`);
    const tip = tipOf(projectDir, branch, env);
    const gone = tip !== null && (step !== 'making' || !hadBranch);
    if (gone) askGit(projectDir, ['branch', '-D', branch], env, `the branch ${branch} could not be deleted`);
    dropWorktreeRecord(projectDir, name, env);
    return { place, tip: gone ? tip : null, kept };
  });
}

/** Moves a loop's state, journals and memory: nothing of a loop is deleted. */
function keepJournals(
  mainDir: string,
  { name, projectDir }: WorktreePlace,
  env: NodeJS.ProcessEnv,
  at: string,
): string | null {
  const own = dirname(loopFiles(projectDir, name, env).runtimeDir);
  if (!existsSync(own)) return null;
  const kept = join(loopFiles(mainDir, null, env).runtimeDir, 'worktrees', `${name}-${at.replaceAll(':', '-')}`);
  cpSync(own, kept, { recursive: true });
  return kept;
}

/** Work that exists only in a worktree. */
interface WorktreeLoss {
  /** Uncommitted changes that differ from the main project. */
  readonly uncommitted: number;
  /** Commits that no other branch has. */
  readonly unmerged: number;
}

/** Returns what removing a worktree and its branch would lose. */
export function worktreeLoss(mainDir: string, place: WorktreePlace, env: NodeJS.ProcessEnv): WorktreeLoss {
  const { dir, branch } = place;
  const there = existsSync(join(dir, '.git'));
  const revisions = tipOf(mainDir, branch, env) === null ? [] : [`refs/heads/${branch}`];
  // The agent may have left the branch: its later commits are on no branch, or on another one.
  const head = there ? userGit(dir, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], env) : null;
  if (head?.ok === true) revisions.push(head.text.trim());
  return {
    uncommitted: there ? uncommitted(mainDir, place, env) : 0,
    unmerged: revisions.length === 0 ? 0 : ownCommits(mainDir, revisions, branch, env),
  };
}

/** Returns descriptions of the loss; empty if nothing would be lost. */
export function lossText({ uncommitted: files, unmerged }: WorktreeLoss, branch: string): string[] {
  return [
    ...(files === 0 ? [] : [`${counted(files, 'file')} that ${files === 1 ? 'is' : 'are'} not committed`]),
    ...(unmerged === 0 ? [] : [`${counted(unmerged, 'commit')} that no branch but ${branch} has`]),
  ];
}

function uncommitted(mainDir: string, { dir, projectDir }: WorktreePlace, env: NodeJS.ProcessEnv): number {
  const { changed, removed } = changedFiles(dir, env);
  const prefix = projectDir.slice(dir.length + 1);
  const own = prefix === '' ? '' : `${prefix}/`;
  const lost = changed.filter((path) => {
    // The loop's own records are kept, and copied files still exist in the main project.
    if (path.startsWith(`${own}.claude/context/`)) return false;
    return !path.startsWith(own) || !isSame(join(dir, path), join(mainDir, path.slice(own.length)));
  });
  return lost.length + removed.length;
}
