import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { readRegularFile } from '../state/read-regular-file.ts';
import { watchFingerprint } from './watch-fingerprint.ts';

/** The whole project but what the loop itself writes: its task, guardrails, memory and state. */
const WORK = ['*', '!(.claude|.ralph)/**', '.claude/*', '.claude/!(ralph|context)/**'];

/**
 * A fingerprint of the project's work: it changes with every file outside the loop's own, and with every commit, which
 * may change no file at all.
 */
export function projectFingerprint(projectDir: string): string {
  return `${watchFingerprint(projectDir, WORK, '')} ${commitMark(projectDir)}`;
}

/** Git's log of HEAD grows with each commit; without one ('' is none) commits are not looked at. */
export function commitMark(projectDir: string): string {
  const log = statSync(join(gitDir(projectDir), 'logs', 'HEAD'), { throwIfNoEntry: false });
  return log === undefined ? '' : `${log.size}:${log.mtimeMs}`;
}

/** In a worktree `.git` is a file that names the folder. */
function gitDir(projectDir: string): string {
  const git = join(projectDir, '.git');
  const named = /^gitdir: (.+)$/m.exec(readRegularFile(git, 4096) ?? '')?.[1];
  return named === undefined ? git : resolve(projectDir, named.trim());
}
