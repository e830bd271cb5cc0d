import { spawnSync } from 'node:child_process';
import { RalphError } from '../../core/ralph-error.ts';
import { onPath } from '../../task/on-path.ts';
import { WORKTREE_TEXTS } from './texts.ts';

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
