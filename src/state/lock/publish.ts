import { closeSync, existsSync, linkSync, mkdirSync, openSync, renameSync, rmdirSync } from 'node:fs';
import { join } from 'node:path';
import { removeIfThere } from '../files/read-regular-file.ts';
import { passesOnWindows, uniqueToken, writeWhole } from '../files/write-atomically.ts';
import { type LockOwner, OWNER_IN_FOLDER } from './owner.ts';

/** What link(2) says where there are no hard links; EACCES is Android's word. The draft could be made, so it is not ours. */
const NO_LINKS = new Set(['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV', 'EINVAL']);
/** What rename(2) says of a folder that is to take the place of a lock. */
const TAKEN = new Set(['ENOTEMPTY', 'EEXIST', 'ENOTDIR']);

/**
 * Makes `owner` the owner of the lock at `path`: true, or false when the lock has an owner already. link(2) shows the
 * lock together with its content, so that it never exists without an owner.
 */
export function publishLock(path: string, owner: LockOwner): boolean {
  const draft = `${path}.${owner.token}`;
  try {
    create(draft, JSON.stringify(owner));
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
 * Without hard links the lock is a folder with the owner in it: rename(2) shows it as a whole too, and never puts it in
 * the place of a folder that is not empty. (A file made in place is empty for a moment, and no contender can tell one
 * whose maker died from one whose maker is slow.)
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

/** Removes a lock of either kind in one step; one that is not there is as good as removed. */
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

/** A new file with this content, or none. */
function create(path: string, content: string): void {
  const descriptor = openSync(path, 'wx', 0o644);
  try {
    writeWhole(descriptor, content, path);
  } finally {
    closeSync(descriptor);
  }
}

/** A draft that cannot be removed harms nobody: sweep-leftovers takes it once this process is gone. */
function quietly(remove: () => void): void {
  try {
    remove();
  } catch {
    // Whatever is wrong with the file system, the next call that matters will say so.
  }
}
