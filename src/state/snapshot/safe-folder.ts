import { chmodSync, closeSync, constants, existsSync, mkdirSync, openSync, realpathSync } from 'node:fs';
import { sep } from 'node:path';
import { diskPath, statAt } from './version.ts';

/** Folder in which Linux names an open folder by its descriptor, whatever happens to its path. */
const DESCRIPTORS = '/proc/self/fd';

/**
 * Runs `work` with the path of a file whose folder is reached from `root` without following a link, and returns its result;
 * null if the folder cannot be reached. With `make`, missing folders are created, and anything in the place of one is passed
 * to `aside`. On Linux, replacing a folder meanwhile has no effect: every step is relative to an open one.
 */
export function inSafeFolder<T>(
  root: string,
  path: string,
  work: (at: string) => T,
  make: { readonly aside: (at: string) => void } | null,
): T | null {
  const segments = path.slice(root === sep ? 1 : root.length + 1).split(sep);
  const name = segments.pop() ?? '';
  const descriptors: number[] = [];
  let folder = realpathSync(root);
  try {
    for (const segment of ['', ...segments]) {
      const next = segment === '' ? folder : `${folder}${sep}${segment}`;
      if (statAt(next)?.isDirectory() !== true) {
        if (make === null || segment === '') return null;
        if (statAt(next) !== null) make.aside(next);
        mkdirSync(diskPath(next));
      }
      const descriptor = openFolder(next);
      if (descriptor === null) return null;
      descriptors.push(descriptor);
      folder = hasDescriptors() ? `${DESCRIPTORS}/${descriptor}` : next;
    }
    return inOpenFolder(folder, () => work(`${folder}${sep}${name}`));
  } finally {
    for (const descriptor of descriptors) closeSync(descriptor);
  }
}

/** Runs `work`; a folder without write permission for its owner is opened temporarily. */
function inOpenFolder<T>(folder: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    const mode = statAt(`${folder}${sep}.`)?.mode;
    if ((error as NodeJS.ErrnoException).code !== 'EACCES' || mode === undefined || (mode & 0o200) !== 0) throw error;
    chmodSync(`${folder}${sep}.`, (mode & 0o7777) | 0o700);
    try {
      return work();
    } finally {
      chmodSync(`${folder}${sep}.`, mode & 0o7777);
    }
  }
}

/** Opens a folder that is not a link; one that its owner made inaccessible is opened temporarily. Returns null if that fails. */
function openFolder(path: string): number | null {
  const flags = constants.O_RDONLY | (constants.O_DIRECTORY ?? 0) | (constants.O_NOFOLLOW ?? 0);
  for (const attempt of [1, 2]) {
    try {
      return openSync(diskPath(path), flags);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EACCES' && attempt === 1) openToOwner(path);
      else if (code === 'EACCES' || code === 'ELOOP' || code === 'ENOTDIR' || code === 'ENOENT') return null;
      else throw error;
    }
  }
  return null;
}

function openToOwner(path: string): void {
  const mode = statAt(path)?.mode;
  if (mode === undefined) return;
  try {
    chmodSync(diskPath(path), (mode & 0o7777) | 0o700);
  } catch {
    // Another user's folder: the second attempt to open it fails.
  }
}

let known: boolean | null = null;

function hasDescriptors(): boolean {
  known ??= process.platform === 'linux' && existsSync(DESCRIPTORS);
  return known;
}
