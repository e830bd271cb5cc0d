import { chmodSync, lstatSync, rmdirSync, type Stats, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type Around, git, isBelowFile, isFileAt, must, nulList, onDisk } from '../git/record-tree.ts';

/** Writes files of a commit over those of a work tree. Replaces no folder and leaves the index. */
export async function putFiles(
  around: Around,
  commit: string,
  paths: readonly string[],
  at = around.top,
): Promise<void> {
  if (paths.length === 0) return;
  const words = ['restore', '--worktree', '--overlay', `--source=${commit}`];
  const listed = ['--pathspec-from-file=-', '--pathspec-file-nul'];
  const index = join(around.gitDir, 'ralph-empty-index');
  const place = [`--git-dir=${around.gitDir}`, `--work-tree=${at}`, '--literal-pathspecs'];
  const modes = Object.entries(modesOf(at, paths));
  must(await git(around, [...place, ...words, ...listed], { index, input: nulList(paths), at }));
  for (const [path, mode] of modes) keepPrivate(onDisk(at, path), mode);
  const runnable = modes.filter(([path, mode]) => mode & 0o111 && !(lstatSync(onDisk(at, path)).mode & 0o111));
  if (runnable.length === 0) return;
  // Such a git keeps no right to run a file, and has given none back.
  const { text } = await git(around, ['config', '--type=bool', '--get', 'core.fileMode']);
  if (text.trim() === 'false') for (const [path, mode] of runnable) keepRunnable(onDisk(at, path), mode);
}

/** Returns the modes of those of the files that are there. */
export function modesOf(top: string, paths: readonly string[]): Record<string, number> {
  return ofFiles(top, paths, ({ mode }) => mode);
}

/** Returns when those of the files that are there changed last, in epoch milliseconds. */
export function timesOf(top: string, paths: readonly string[]): Record<string, number> {
  return ofFiles(top, paths, ({ mtimeMs }) => mtimeMs);
}

function ofFiles(top: string, paths: readonly string[], read: (stat: Stats) => number): Record<string, number> {
  const there = paths.filter((path) => isFileAt(top, path));
  return Object.fromEntries(there.map((path) => [path, read(lstatSync(onDisk(top, path)))]));
}

const isRegular = (mode: number): boolean => (mode & 0o170000) === 0o100000;

/** Takes the rights from a file that its former one did not give, except to run it: git keeps no others. */
export function keepPrivate(file: Buffer, former: number): void {
  const { mode } = lstatSync(file);
  const rights = mode & ((former & 0o666) | ((former & 0o444) >> 2) | 0o700);
  if (isRegular(mode) && isRegular(former) && rights !== mode) chmodSync(file, rights & 0o777);
}

function keepRunnable(file: Buffer, former: number): void {
  const { mode } = lstatSync(file);
  if (isRegular(mode) && isRegular(former)) chmodSync(file, (mode | (former & 0o111)) & 0o777);
}

/** Removes files, and folders that become empty if `isNew` says so of the time at which they were made (epoch milliseconds). */
export function removeFiles(
  { top, projectDir }: Around,
  paths: readonly string[],
  isNew: (made: number) => boolean,
): void {
  for (const path of paths) {
    if (isBelowFile(top, path)) continue;
    const file = onDisk(top, path).toString();
    const stat = lstatSync(onDisk(top, path), { throwIfNoEntry: false });
    if (stat === undefined || stat.isDirectory()) continue;
    unlinkSync(onDisk(top, path));
    for (let at = dirname(file); at.startsWith(`${projectDir}/`); at = dirname(at)) {
      // Git knows no empty folders: only its age tells one of the user's from the loop's.
      const folder = lstatSync(at, { throwIfNoEntry: false });
      if (folder === undefined || !isNew(folder.birthtimeMs)) break;
      try {
        rmdirSync(at);
      } catch (error) {
        if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) break;
        throw error;
      }
    }
  }
}
