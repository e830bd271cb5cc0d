import { askGit } from './user-git.ts';

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
