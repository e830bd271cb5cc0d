import { spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { onPath } from '../../task/commands/shell.ts';
import { unopenedText } from '../../task/git/read-repository.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { WORKTREE_TEXTS } from './messages.ts';

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

export interface GitRun {
  readonly ok: boolean;
  readonly text: string;
  /** What git complained of, without the white space around it. */
  readonly complaint: string;
}

const MAX_OUTPUT = 64 * 1024 * 1024;

/**
 * git as the user calls it in this directory: with their configuration, hooks and filters, but without variables that
 * would mean another repository. Throws `refused` where there is no git.
 */
export function userGit(directory: string, words: readonly string[], env: NodeJS.ProcessEnv): GitRun {
  const program = onPath(process.platform === 'win32' ? 'git.exe' : 'git', env);
  if (program === null) throw new RalphError('refused', WORKTREE_TEXTS.noGit);
  const others = Object.entries(env).filter(([key]) => !REPOSITORY.has(key));
  const { status, stdout, stderr, error } = spawnSync(program, words, {
    cwd: directory,
    env: { ...Object.fromEntries(others), LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' },
    encoding: 'utf8',
    maxBuffer: MAX_OUTPUT,
    windowsHide: true,
  });
  return { ok: status === 0, text: stdout ?? '', complaint: (error?.message ?? stderr ?? '').trim() };
}

/** What git says, without the newline at its end. Throws `refused` with its complaint, behind `what`, where it fails. */
export function askGit(directory: string, words: readonly string[], env: NodeJS.ProcessEnv, what: string): string {
  const { ok, text, complaint } = userGit(directory, words, env);
  if (!ok) throw new RalphError('refused', WORKTREE_TEXTS.gitFailed(what, complaint));
  return text.replace(/\n$/, '');
}

const REPOSITORY = new Set([
  ...['GIT_DIR', 'GIT_WORK_TREE', 'GIT_INDEX_FILE', 'GIT_COMMON_DIR', 'GIT_PREFIX', 'GIT_NAMESPACE'],
  ...['GIT_OBJECT_DIRECTORY', 'GIT_ALTERNATE_OBJECT_DIRECTORIES'],
]);

const WHAT = 'what is not committed was to be found';

/**
 * Files below a directory of a work tree that are not as they were committed, relative to it: those that git does not
 * know among them, ignored ones not. Those that were removed are told apart.
 */
export function changedFiles(
  directory: string,
  env: NodeJS.ProcessEnv,
): { readonly changed: readonly string[]; readonly removed: readonly string[] } {
  const prefix = askGit(directory, ['rev-parse', '--show-prefix'], env, WHAT);
  const words = ['-c', 'status.renames=false', 'status', '--porcelain=v1', '-z', '--untracked-files=all', '--', '.'];
  const text = askGit(directory, words, env, WHAT);
  const changed: string[] = [];
  const removed: string[] = [];
  for (const entry of text.split('\0')) {
    if (entry === '') continue;
    const [index, tree] = [entry[0], entry[1]];
    const isGone = tree === 'D' || (index === 'D' && tree === ' ');
    (isGone ? removed : changed).push(entry.slice(3 + prefix.length));
  }
  return { changed, removed };
}
