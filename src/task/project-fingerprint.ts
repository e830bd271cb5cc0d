import { readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { watchFingerprint } from './watch-fingerprint.ts';

/** The whole project but what the loop itself writes: its task, guardrails, memory and state. */
const WORK = ['*', '!(.claude)/**', '.claude/*', '.claude/!(ralph|context)/**'];

/**
 * A fingerprint of the project's work: it changes with every file outside the loop's own, and with every commit, which
 * may change no file at all.
 */
export function projectFingerprint(projectDir: string): string {
  return `${watchFingerprint(projectDir, WORK, '')} ${commits(projectDir)}`;
}

/** Git's log of HEAD grows with each commit; without one ('' is none) commits are not looked at. */
function commits(projectDir: string): string {
  const log = statSync(join(gitDir(projectDir), 'logs', 'HEAD'), { throwIfNoEntry: false });
  return log === undefined ? '' : `${log.size}:${log.mtimeMs}`;
}

/** In a worktree `.git` is a file that names the folder. */
function gitDir(projectDir: string): string {
  const git = join(projectDir, '.git');
  try {
    const named = /^gitdir: (.+)$/m.exec(readFileSync(git, 'utf8'))?.[1];
    return named === undefined ? git : resolve(projectDir, named.trim());
  } catch {
    return git; // a folder, or no repository
  }
}
