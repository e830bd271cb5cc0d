import { existsSync, linkSync, mkdirSync, readFileSync, renameSync, rmdirSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { jsonOrNull } from '../../text/json.ts';
import {
  ifOutOfReach,
  passesOnWindows,
  quietly,
  removeIfThere,
  uniqueToken,
  withDescriptor,
  writeWhole,
} from '../files/regular-file.ts';
import type { LoopFiles } from '../loop-files.ts';
import { bootId, identityOf, isAlive, type ProcessIdentity, procLink } from '../process/identity.ts';

export interface LockOwner extends ProcessIdentity {
  readonly token: string;
  /** Identifies the set of processes within which the process id is unique. */
  readonly host: string;
}

/** File in a lock that is a folder (see publishAsFolder). */
const OWNER_IN_FOLDER = 'owner';

/** `unreadable`: it has no owner, because the power failed before its content was written to disk. */
export type FoundOwner = LockOwner | 'gone' | 'unreadable';

/** Age at which a lock of another machine or process namespace is stale, since its owner cannot be checked. */
const FOREIGN_STALE_MS = 60_000;

let self: ProcessIdentity | undefined;

/** Returns this process as the owner of one lock, with a new token. */
export function newOwner(): LockOwner {
  if (self === undefined || self.startedAt === null) self = identityOf(process.pid);
  return { ...self, token: uniqueToken(), host: hostIdentity() };
}

export function readOwner(path: string): FoundOwner {
  let text: string;
  try {
    const stat = statSync(path);
    // Reading a FIFO would block.
    if (!stat.isFile() && !stat.isDirectory()) return 'unreadable';
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EISDIR') return readOwner(join(path, OWNER_IN_FOLDER));
    if (code === 'ENOENT' || passesOnWindows(error)) return 'gone';
    throw error;
  }
  const { pid, startedAt, token, host } = (jsonOrNull(text) ?? {}) as Partial<LockOwner>;
  if (typeof pid !== 'number' || typeof token !== 'string' || token === '') return 'unreadable';
  return { pid, startedAt: startedAt ?? null, token, host: host ?? '' };
}

/** Returns whether the file at `path` names this owner. */
export function isOwnedBy(path: string, { token }: LockOwner): boolean {
  const found = readOwner(path);
  return typeof found === 'object' && found.token === token;
}

/** Returns whether the owner in the file at `path` may still be alive. */
export function ownerLives(owner: LockOwner, path: string): boolean {
  if (owner.host === hostIdentity()) return isAlive(owner);
  return ifOutOfReach(() => Date.now() - statSync(path).mtimeMs <= FOREIGN_STALE_MS, true); // removed: the next attempt shows it
}

let knownNamespace: string | null = null;

/**
 * Identifies a boot and process namespace on Linux, and the machine by name elsewhere. The initial namespace has the same
 * number on every machine, so only the boot's id distinguishes two machines that share a network file system.
 */
function hostIdentity(): string {
  knownNamespace ??= procLink('self/ns/pid');
  return knownNamespace === null ? `${process.platform} ${hostname()}` : `${bootId()} ${knownNamespace}`;
}

/** Returns the folder whose age shows whether a holder on another machine lives (hold.ts). */
export function leaseOf(path: string): string {
  return `${path}.lease`;
}

/** Returns whether a live process has the hold at `path`; on another machine, as long as it renews the lease. */
export function isHeld(path: string): boolean {
  const owner = readOwner(path);
  if (typeof owner !== 'object') return false;
  const lease = leaseOf(path);
  return (owner.host === hostIdentity() || existsSync(lease)) && ownerLives(owner, lease);
}

/** Returns the path of a loop's hold for its runner, outside the project. */
export function runnerHold({ outsideDir, name }: LoopFiles): string {
  return join(outsideDir, `runner${name === null ? '' : `.${name}`}.holder`);
}

/** Errors of link(2) on file systems without hard links; EACCES on Android. The draft was created without error. */
const NO_LINKS = new Set(['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV', 'EINVAL']);
/** Errors of rename(2) if the lock exists. */
const TAKEN = new Set(['ENOTEMPTY', 'EEXIST', 'ENOTDIR']);

/** Publishes a lock by link(2), so that it never exists without its owner. Returns false if there already is one. */
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
 * Publishes a lock as a folder with the owner in it, where there are no hard links: rename(2) shows it as a whole, too,
 * and never replaces a folder that is not empty. (A file created in place would be empty for a moment.)
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
    // The lock is a folder: Linux reports EISDIR, POSIX EPERM.
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
