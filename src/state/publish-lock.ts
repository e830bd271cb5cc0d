import { closeSync, linkSync, openSync, readdirSync, renameSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { type LockOwner, ownerLives, readOwner } from './lock-owner.ts';
import { passesOnWindows } from './passes-on-windows.ts';
import { removeIfThere } from './remove-if-there.ts';
import { UNIQUE_TOKEN } from './unique-token.ts';
import { writeWhole } from './write-whole.ts';

/** What link(2) says where there are no hard links; EACCES is Android's word. The draft could be made, so it is not ours. */
const NO_LINKS = new Set(['EPERM', 'EACCES', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK', 'EXDEV', 'EINVAL']);

/**
 * Makes `owner` the owner of the lock at `path`: true, or false when the lock has an owner already. link(2) shows the
 * lock together with its content, so that it never exists without an owner.
 */
export function publishLock(path: string, owner: LockOwner): boolean {
  const draft = `${path}.${owner.token}`;
  const content = JSON.stringify(owner);
  try {
    create(draft, content);
    try {
      linkSync(draft, path);
      return true;
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code ?? '';
      if (code === 'EEXIST') return false;
      if (!NO_LINKS.has(code)) throw error;
      return publishUnderClaim(path, draft, content);
    }
  } finally {
    removeQuietly(draft);
  }
}

/**
 * Without hard links a lock exists for a moment before its content does. So its maker first shows a claim, whole, and
 * takes it back after the last byte: a lock that is empty while no claim of a living process lies beside it is one
 * whose maker died.
 */
function publishUnderClaim(path: string, draft: string, content: string): boolean {
  const claim = `${draft}.claim`;
  renameSync(draft, claim);
  try {
    create(path, content);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST' || passesOnWindows(error)) return false;
    throw error;
  } finally {
    removeQuietly(claim);
  }
}

/**
 * Whether a living process may be about to write the lock at `path`, which has no readable owner. `givenUp` are the
 * tokens of this process that will never be written again.
 */
export function isBeingPublished(path: string, givenUp: ReadonlySet<string>): boolean {
  const prefix = `${basename(path)}.`;
  return readdirSync(dirname(path)).some((name) => {
    if (!name.startsWith(prefix) || !name.endsWith('.claim')) return false;
    if (!UNIQUE_TOKEN.test(name.slice(prefix.length, -'.claim'.length))) return false;
    const claim = join(dirname(path), name);
    const owner = readOwner(claim);
    if (typeof owner === 'object' && givenUp.has(owner.token)) return false;
    return owner !== 'gone' && ownerLives(owner, claim);
  });
}

/** A new file with this content, or none. */
function create(path: string, content: string): void {
  const descriptor = openSync(path, 'wx', 0o644);
  try {
    try {
      writeWhole(descriptor, content, path);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    removeQuietly(path);
    throw error;
  }
}

/** A draft or claim that cannot be removed harms nobody: sweep-leftovers takes it once this process is gone. */
function removeQuietly(path: string): void {
  try {
    removeIfThere(path);
  } catch {
    // Whatever is wrong with the file system, the next call that matters will say so.
  }
}
