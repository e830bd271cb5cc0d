import { existsSync, linkSync, mkdirSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  passesOnWindows,
  quietly,
  removeIfThere,
  uniqueToken,
  withDescriptor,
  writeWhole,
} from '../files/regular-file.ts';
import { type LockOwner, OWNER_IN_FOLDER } from './owner.ts';

/** Errors of link(2) on file systems without hard links; EACCES on Android. The draft could be created. */
const NO_LINKS = new Set(['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV', 'EINVAL']);
/** Errors of rename(2) if the lock exists. */
const TAKEN = new Set(['ENOTEMPTY', 'EEXIST', 'ENOTDIR']);

/** Publishes a lock by link(2), so that it never exists without its owner. Returns false if it has one already. */
export function publishLock(path: string, owner: LockOwner): boolean {
  const draft = `${path}.${owner.token}`;
  try {
    withDescriptor(draft, 'wx', 0o644, (descriptor) => writeWhole(descriptor, JSON.stringify(owner), draft));
    try {
      linkSync(draft, path);
      return true;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? '';
      if (code === 'EEXIST') return false;
      if (!NO_LINKS.has(code)) throw error;
      return publishAsFolder(path, draft);
    }
  } finally {
    quietly(() => removeIfThere(draft));
  }
}

/**
 * Publishes a lock as a folder with the owner in it, where there are no hard links: rename(2) shows it as a whole too and
 * never replaces a folder that is not empty. (A file created in place is empty for a moment.)
 */
function publishAsFolder(path: string, draft: string): boolean {
  const folder = `${draft}.folder`;
  try {
    mkdirSync(folder);
    renameSync(draft, join(folder, OWNER_IN_FOLDER));
    renameSync(folder, path);
    return true;
  } catch (error) {
    quietly(() => removeFolder(folder));
    if (TAKEN.has((error as NodeJS.ErrnoException).code ?? '')) return false;
    if (passesOnWindows(error) && existsSync(path)) return false;
    throw error;
  }
}

/** Removes a lock of either kind in one step, if it exists. */
export function removeLock(path: string): void {
  try {
    removeIfThere(path);
  } catch (error) {
    // A folder: Linux says EISDIR, POSIX says EPERM.
    if (!existsSync(join(path, OWNER_IN_FOLDER))) throw error;
    const folder = `${path}.${uniqueToken()}.folder`;
    renameSync(path, folder);
    quietly(() => removeFolder(folder));
  }
}

/** Removes what `publishAsFolder` made. */
export function removeFolder(folder: string): void {
  removeIfThere(join(folder, OWNER_IN_FOLDER));
  rmdirSync(folder);
}
