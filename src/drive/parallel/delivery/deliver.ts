import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Delivery } from '../../../engine/schema/batch.ts';
import { removeIfThere } from '../../../state/files/regular-file.ts';
import { changedFiles, checkedOut, type GitRun, userGit } from '../../worktree/repository.ts';

export interface Integrated {
  readonly message: string;
  /** `blocked`: the project itself is the obstacle, so nothing else can be integrated either. */
  readonly outcome: 'done' | 'failed' | 'blocked';
}

/** Moves the user's branch forward to a checked commit. git changes nothing if a file of the user is in the way. */
export function moveBranch(projectDir: string, { commit }: Delivery, env: NodeJS.ProcessEnv): GitRun {
  return userGit(projectDir, ['merge', '--ff-only', '--quiet', commit], env);
}

/**
 * Takes back the files that a killed move has written before it moved the branch: exactly those that are as the commit has them.
 * Every other file is the user's.
 */
export function takeBackMove(projectDir: string, { from, commit }: Delivery, env: NodeJS.ProcessEnv): void {
  if (checkedOut(projectDir, env).commit !== from) return;
  const git = (...words: string[]): GitRun => userGit(projectDir, words, env);
  const listed = git('diff', '--name-only', '--no-renames', '--relative', '-z', from, commit);
  const moved = new Set(listed.text.split('\0'));
  const { changed, removed } = changedFiles(projectDir, env);
  for (const path of [...changed, ...removed].filter((each) => moved.has(each))) {
    const file = join(projectDir, path);
    const held = git('rev-parse', '--verify', '--quiet', `${commit}:./${path}`);
    const isWritten = existsSync(file) && held.ok && git('hash-object', '--', path).text === held.text;
    const isRemoved = !existsSync(file) && !held.ok;
    if (!isWritten && !isRemoved) continue;
    if (git('cat-file', '-e', `${from}:./${path}`).ok) {
      git('restore', `--source=${from}`, '--staged', '--worktree', '--', `:(literal)${path}`);
    } else {
      git('rm', '--quiet', '--cached', '--ignore-unmatch', '--', `:(literal)${path}`);
      removeIfThere(file);
    }
  }
}
