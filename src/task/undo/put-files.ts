import { chmodSync, lstatSync, rmdirSync, type Stats, statfsSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { RalphError } from '../../text/message.ts';
import { type Around, git, isFileAt, must, nulList, onDisk } from '../git/record-tree.ts';

/** Writes files of a commit over those of a work tree. Replaces no folder and leaves the index unchanged. */
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
  // Without this setting, git ignores the executable bit and has not restored it.
  const { text } = await git(around, ['config', '--type=bool', '--get', 'core.fileMode']);
  if (text.trim() === 'false') for (const [path, mode] of runnable) keepRunnable(onDisk(at, path), mode);
}

/** Returns whether git may change the line ends of files: it records text with LF and writes it according to its settings. */
export async function convertsLineEnds(around: Around, paths: readonly string[]): Promise<boolean> {
  if (paths.length === 0) return false;
  const { text } = await git(around, ['config', '--get', 'core.autocrlf']);
  if (/^(?:input|true|yes|on|1)$/i.test(text.trim())) return true;
  const words = ['check-attr', '-z', '--stdin', 'text', 'eol'];
  const fields = must(await git(around, words, { input: nulList(paths), at: around.top })).split('\0');
  return fields.some((field, at) => at % 3 === 2 && field !== 'unspecified' && field !== 'unset');
}

/** Returns the modes of those of the files that exist. */
export function modesOf(top: string, paths: readonly string[]): Record<string, number> {
  return ofFiles(top, paths, ({ mode }) => mode);
}

/**
 * Returns when the loop changed those of the files that exist, in epoch milliseconds. A file keeps its modification time when
 * it is moved, and both times when a folder above it is; without a time of the loop, `otherwise` is used.
 */
export function timesOf(
  top: string,
  paths: readonly string[],
  isLoops: (at: number) => boolean,
  otherwise: number | null,
): Record<string, number> {
  return ofFiles(top, paths, ({ mtimeMs, ctimeMs }) => {
    if (isLoops(mtimeMs)) return mtimeMs;
    return isLoops(ctimeMs) ? ctimeMs : (otherwise ?? mtimeMs);
  });
}

function ofFiles(top: string, paths: readonly string[], read: (stat: Stats) => number): Record<string, number> {
  const there = paths.filter((path) => isFileAt(top, path));
  return Object.fromEntries(there.map((path) => [path, read(lstatSync(onDisk(top, path)))]));
}

const isRegular = (mode: number): boolean => (mode & 0o170000) === 0o100000;

/** Removes permissions that a file's former version did not have, except to execute it and for its owner to read it. */
export function keepPrivate(file: Buffer, former: number): void {
  const { mode } = lstatSync(file);
  const rights = mode & ((former & 0o666) | ((former & 0o444) >> 2) | 0o500);
  if (isRegular(mode) && isRegular(former) && rights !== mode) chmodSync(file, rights & 0o777);
}

function keepRunnable(file: Buffer, former: number): void {
  const { mode } = lstatSync(file);
  if (isRegular(mode) && isRegular(former)) chmodSync(file, (mode | (former & 0o111)) & 0o777);
}

/** Allocation unit of a disk, in bytes. */
const BLOCK = 4096;

/** Returns the free bytes of a folder's disk; infinite on a file system that does not report its size. */
export function freeBytes(folder: string): number {
  const { bavail, blocks, bsize } = statfsSync(folder);
  return blocks === 0 ? Infinity : bavail * bsize;
}

/** Returns by how many bytes a disk fills up when files get the content of a commit and others go: git leaves halves on a full disk. */
export async function growthOf(
  { top, ...around }: Around,
  commit: string,
  bring: readonly string[],
  removed: readonly string[],
): Promise<number> {
  const place = { ...around, top };
  const wanted = new Set(bring);
  const listed = must(await git(place, ['ls-tree', '-r', '-z', '--full-tree', commit])).split('\0');
  const ids = listed.flatMap((line) => {
    const end = line.indexOf('\t');
    return wanted.has(line.slice(end + 1)) ? [line.slice(0, end).split(' ')[2] ?? ''] : [];
  });
  // Asks for these only: a partial clone lacks other contents, and would fetch them.
  const input = ids.map((id) => `${id}\n`).join('');
  const sizes = ids.length === 0 ? '' : must(await git(place, ['cat-file', '--batch-check=%(objectsize)'], { input }));
  const blocks = (bytes: number): number => Math.ceil(bytes / BLOCK) * BLOCK;
  const sizeOf = (path: string): number => (isFileAt(top, path) ? blocks(lstatSync(onDisk(top, path)).size) : 0);
  const after = sizes.split('\n').reduce((sum, size) => sum + blocks(Number(size)), 0);
  return [...bring, ...removed].reduce((sum, path) => sum - sizeOf(path), after);
}

interface FileChange {
  readonly bring: readonly string[];
  readonly removed: readonly string[];
  readonly freeBytes: (folder: string) => number;
}

/** Throws `refused` if the disk has too little space for these files of a commit. */
export async function refuseFullDisk(
  around: Around,
  commit: string,
  { bring, removed, freeBytes }: FileChange,
): Promise<void> {
  const growth = await growthOf(around, commit, bring, removed);
  const missing = growth - freeBytes(around.top);
  if (missing <= 0) return;
  const text = `The files need ${Math.ceil(missing / 1024)} KB more than the disk has free.`;
  throw new RalphError('refused', `${text} Nothing was changed.`);
}

/**
 * Removes files, and folders that become empty. `isNew` says whether to remove a folder created and last changed at these times
 * (epoch milliseconds): git records no empty folders, so only times distinguish the user's from the loop's.
 */
export function removeFiles(
  { top, prefix }: Around,
  paths: readonly string[],
  isNew: (made: number, changed: number) => boolean,
): void {
  // Read before a removal changes them.
  const folders = new Map(paths.flatMap((path) => foldersOf(path, prefix)).map((folder) => [folder, false]));
  for (const folder of folders.keys()) {
    const stat = lstatSync(onDisk(top, folder), { throwIfNoEntry: false });
    if (stat?.isDirectory() === true) folders.set(folder, isNew(stat.birthtimeMs, stat.mtimeMs));
  }
  for (const path of paths) {
    if (!isFileAt(top, path)) continue;
    unlinkSync(onDisk(top, path));
    for (const folder of foldersOf(path, prefix)) {
      if (folders.get(folder) !== true) break;
      try {
        rmdirSync(onDisk(top, folder));
      } catch (error) {
        if (['ENOTEMPTY', 'EEXIST', 'ENOENT'].includes((error as NodeJS.ErrnoException).code ?? '')) break;
        throw error;
      }
    }
  }
}

/** Returns the folders of a path within the project, the innermost first. */
function foldersOf(path: string, prefix: string): string[] {
  const folders: string[] = [];
  for (let end = path.lastIndexOf('/'); end >= Buffer.byteLength(prefix); end = path.lastIndexOf('/', end - 1))
    folders.push(path.slice(0, end));
  return folders;
}
