import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { changedFiles } from './changed-files.ts';
import { isSame } from './copy-task.ts';
import { ownCommits, tipOf } from './repository.ts';
import { counted } from './texts.ts';
import { userGit } from './user-git.ts';
import type { WorktreePlace } from './worktree-place.ts';

/** What nobody else has of the work in a worktree. */
export interface WorktreeLoss {
  /** Changed and not committed, and not the same in the main project either. */
  readonly uncommitted: number;
  /** Commits that no other branch has. */
  readonly unmerged: number;
}

/** What removing a worktree and its branch would lose now. */
export function worktreeLoss(mainDir: string, place: WorktreePlace, env: NodeJS.ProcessEnv): WorktreeLoss {
  const { dir, branch } = place;
  const there = existsSync(join(dir, '.git'));
  const revisions = tipOf(mainDir, branch, env) === null ? [] : [`refs/heads/${branch}`];
  // An agent may have left the branch: what it has committed since is on no branch at all, or on another one.
  const head = there ? userGit(dir, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], env) : null;
  if (head?.ok === true) revisions.push(head.text.trim());
  return {
    uncommitted: there ? uncommitted(mainDir, place, env) : 0,
    unmerged: revisions.length === 0 ? 0 : ownCommits(mainDir, revisions, branch, env),
  };
}

/** The same for people, a part each; empty where nothing would be lost. */
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
    // What the loop wrote for itself is kept, and what was copied from the main project is still there.
    if (path.startsWith(`${own}.claude/context/`)) return false;
    return !path.startsWith(own) || !isSame(join(dir, path), join(mainDir, path.slice(own.length)));
  });
  return lost.length + removed.length;
}
