import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { pauseThread, realPathOf } from '../../state/files/regular-file.ts';
import { onPath } from '../../state/process/find-program.ts';
import { isDevice, unfinishedText, unopenedText } from '../../task/git/read-repository.ts';
import { askPlaces, placesIn, withoutPlace } from '../../task/git/run-git.ts';
import { RalphError } from '../../text/message.ts';
import { WORKTREE_TEXTS } from './messages.ts';

/** Repository of a project, as needed to create a worktree. */
export interface Repository {
  /** Root of its own work tree, absolute. */
  readonly root: string;
  /** Path of the project in it, with a final `/`; '' for the repository itself. */
  readonly prefix: string;
  /** Git directory shared by all its work trees, absolute. */
  readonly commonDir: string;
  readonly head: string;
}

/** Returns the repository. Throws `refused` if there is none, or it has no commit. */
export function repositoryOf(projectDir: string, env: NodeJS.ProcessEnv): Repository {
  const found = userGit(projectDir, askPlaces(['--show-toplevel'], ['--git-common-dir'], ['--show-prefix']), env);
  const [root = '', common = '', prefix = ''] = placesIn(found.text);
  if (!found.ok || root === '')
    throw new RalphError('refused', unopenedText(projectDir) ?? WORKTREE_TEXTS.noRepository(projectDir));
  const head = userGit(projectDir, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}'], env);
  if (!head.ok) throw new RalphError('refused', WORKTREE_TEXTS.noCommit);
  return { root, prefix, commonDir: resolve(projectDir, common), head: head.text.trim() };
}

/** Lists the work trees that git has registered, even if they no longer exist; `branch` is null on a detached HEAD. */
export function workTrees(projectDir: string, env: NodeJS.ProcessEnv) {
  const list = askGit(projectDir, ['worktree', 'list', '--porcelain', '-z'], env, 'the worktrees could not be listed');
  return list.split('\0\0').flatMap((text) => {
    const [, dir] = /^worktree ([^\0]+)/.exec(text) ?? [];
    const [, branch = null] = /\0branch refs\/heads\/([^\0]+)/.exec(text) ?? [];
    return dir === undefined ? [] : [{ dir, branch }];
  });
}

/** Returns whether git has registered this directory as a work tree, even if it no longer exists. */
export function isRegistered(projectDir: string, dir: string, env: NodeJS.ProcessEnv): boolean {
  // A removed one may still be registered.
  const real = (path: string): string => realPathOf(path) ?? path;
  return workTrees(projectDir, env).some((tree) => real(tree.dir) === real(dir));
}

/** Returns the commit of a branch; null if there is no such branch. */
export function tipOf(projectDir: string, branch: string, env: NodeJS.ProcessEnv): string | null {
  const { ok, text } = userGit(projectDir, ['rev-parse', '--verify', '--quiet', `refs/heads/${branch}`], env);
  return ok ? text.trim() : null;
}

/** Returns what is checked out in a work tree; `branch` is null on a detached HEAD. Throws `refused` if git does not say. */
export function checkedOut(dir: string, env: NodeJS.ProcessEnv) {
  const commit = askGit(dir, ['rev-parse', '--verify', 'HEAD^{commit}'], env, `the commit in ${dir} could not be read`);
  return { branch: branchOf(dir, env), commit };
}

/** Returns the branch that is checked out in a work tree; null on a detached HEAD. */
export function branchOf(dir: string, env: NodeJS.ProcessEnv): string | null {
  // If a branch shares its name with a tag, git's own short form is a different name.
  const { ok, text } = userGit(dir, ['symbolic-ref', '--quiet', 'HEAD'], env);
  return ok ? text.trim().replace('refs/heads/', '') : null;
}

/** Returns a sentence about an unfinished merge or the like in a work tree; null if there is none. */
export function unfinishedAt(dir: string, env: NodeJS.ProcessEnv): string | null {
  return unfinishedText(askGit(dir, ['rev-parse', '--absolute-git-dir'], env, 'the repository could not be read'));
}

/**
 * Counts the commits of these revisions that are on no branch (except those in `excepted`), remote branch or tag, and in
 * neither the project's HEAD nor `delivered`, if given.
 */
export function ownCommits(
  projectDir: string,
  revisions: readonly string[],
  excepted: readonly string[],
  env: NodeJS.ProcessEnv,
  delivered?: string,
): number {
  const others = ['HEAD', ...(delivered === undefined ? [] : [delivered])];
  const branches = [...excepted.map((branch) => `--exclude=${branch}`), '--branches', '--remotes', '--tags'];
  const words = ['rev-list', '--count', ...revisions, '--not', ...others, ...branches];
  return Number(askGit(projectDir, words, env, 'its commits could not be counted'));
}

export interface GitRun {
  readonly ok: boolean;
  readonly text: string;
  /** Error output of git, trimmed; a description of the exit if git printed nothing, for example because a user's hook failed. */
  readonly complaint: string;
}

const MAX_OUTPUT = 64 * 1024 * 1024;
/** Errors of git while another one holds the index, or creates or removes a worktree, whose files are still empty. */
const BUSY = /index\.lock': |failed to read \S*worktrees\/.*commondir/;
const BUSY_MS = 250;

/** Runs git as the user does, in this repository, and waits for another git. Throws `refused` if it is not installed. */
export function userGit(directory: string, words: readonly string[], env: NodeJS.ProcessEnv, attempts = 40): GitRun {
  const program = onPath('git', env);
  if (program === null) throw new RalphError('refused', WORKTREE_TEXTS.noGit);
  const options = {
    cwd: directory,
    env: { ...withoutPlace(env), LC_ALL: 'C', GIT_TERMINAL_PROMPT: '0' },
    encoding: 'utf8' as const,
    maxBuffer: MAX_OUTPUT,
    windowsHide: true,
    // Without a terminal, so that a program that signs or connects cannot ask and wait.
    detached: process.platform !== 'win32',
  };
  const { status, stdout, stderr, error } = spawnSync(program, words, options);
  if (attempts > 0 && status !== 0 && BUSY.test(stderr ?? '')) {
    pauseThread(BUSY_MS);
    return userGit(directory, words, env, attempts - 1);
  }
  const complaint = (error?.message ?? stderr ?? '').trim();
  const ok = error === undefined && status === 0;
  const said = ok || complaint !== '' ? complaint : WORKTREE_TEXTS.silent(words, status);
  return { ok, text: stdout ?? '', complaint: said };
}

/** Returns git's output without its final newline. Throws `refused` with `what` and git's error if it fails. */
export function askGit(directory: string, words: readonly string[], env: NodeJS.ProcessEnv, what: string): string {
  const { ok, text, complaint } = userGit(directory, words, env);
  if (!ok) throw new RalphError('refused', WORKTREE_TEXTS.gitFailed(what, complaint));
  return text.replace(/\n$/, '');
}

/** Words that fast-forward the checked-out branch, whatever `branch.NAME.mergeOptions` says. */
export const FAST_FORWARD = ['merge', '--ff-only', '--no-squash', '--quiet'];

const WHAT = 'uncommitted changes could not be determined';

/** Lists uncommitted files below a directory, untracked ones included, and removed files. `more`: options of git status. */
export function changedFiles(
  directory: string,
  env: NodeJS.ProcessEnv,
  more: readonly string[] = [],
): { readonly changed: readonly string[]; readonly removed: readonly string[] } {
  const prefix = askGit(directory, ['rev-parse', '--show-prefix'], env, WHAT);
  // Other processes may be committing; a status that refreshes the index would interfere.
  const options = ['--no-optional-locks', '-c', 'status.renames=false'];
  const words = [...options, 'status', '--porcelain=v1', '-z', '--untracked-files=all', ...more, '--', '.'];
  const text = askGit(directory, words, env, WHAT);
  const changed: string[] = [];
  const removed: string[] = [];
  for (const entry of text.split('\0')) {
    if (entry === '') continue;
    const [index, tree] = [entry[0], entry[1]];
    const path = entry.slice(3 + prefix.length);
    if (index === '?' && isDevice(resolve(directory, path))) continue;
    const isGone = tree === 'D' || (index === 'D' && tree === ' ');
    (isGone ? removed : changed).push(path);
  }
  return { changed, removed };
}
