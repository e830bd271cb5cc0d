import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { RalphError } from '../../core/ralph-error.ts';
import { unopenedText } from '../../task/progress/unopened-text.ts';
import { WORKTREE_TEXTS } from './texts.ts';
import { askGit, userGit } from './user-git.ts';

/** The repository that a project is in, as a worktree is made from it. */
export interface Repository {
  /** Its own work tree, absolute. */
  readonly root: string;
  /** Of the project in it, with `/` at its end; '' for the repository itself. */
  readonly prefix: string;
  /** What all its work trees share, absolute. */
  readonly commonDir: string;
  readonly head: string;
}

/** Throws `refused` where there is no repository, or none with a commit. */
export function repositoryOf(projectDir: string, env: NodeJS.ProcessEnv): Repository {
  const found = userGit(projectDir, ['rev-parse', '--show-toplevel', '--git-common-dir', '--show-prefix'], env);
  const [root = '', common = '', prefix = ''] = found.text.split('\n');
  if (!found.ok || root === '') {
    throw new RalphError('refused', unopenedText(projectDir) ?? WORKTREE_TEXTS.noRepository(projectDir));
  }
  const head = userGit(projectDir, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], env);
  if (!head.ok) throw new RalphError('refused', WORKTREE_TEXTS.noCommit);
  return { root, prefix, commonDir: resolve(projectDir, common), head: head.text.trim() };
}

/** Whether git knows this directory as a work tree of the repository, whether it is there or not. */
export function isRegistered(projectDir: string, dir: string, env: NodeJS.ProcessEnv): boolean {
  const list = askGit(projectDir, ['worktree', 'list', '--porcelain', '-z'], env, 'the worktrees were asked for');
  const wanted = real(dir);
  return list.split('\0').some((line) => line.startsWith('worktree ') && real(line.slice(9)) === wanted);
}

/** The commit of a branch; null where there is no such branch. */
export function tipOf(projectDir: string, branch: string, env: NodeJS.ProcessEnv): string | null {
  const { ok, text } = userGit(projectDir, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`], env);
  return ok ? text.trim() : null;
}

/** How many commits of these revisions no other branch, no remote and not the project's HEAD has. */
export function ownCommits(
  projectDir: string,
  revisions: readonly string[],
  branch: string,
  env: NodeJS.ProcessEnv,
): number {
  const others = ['--not', 'HEAD', `--exclude=${branch}`, '--branches', '--remotes', '--tags'];
  const words = ['rev-list', '--count', ...revisions, ...others];
  return Number(askGit(projectDir, words, env, 'its commits were to be counted'));
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path; // it is gone, and git still knows it
  }
}
