import { mkdirSync, utimesSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { namesIn, removeIfThere, writeAtomically } from '../files/regular-file.ts';
import { withLock } from './lock.ts';
import { newOwner, ownerLives, readOwner } from './owner.ts';

/** Possession of something for minutes or hours, which ends with its process at the latest. */
export interface Hold {
  /** Returns whether it is still ours: after a long sleep a process in another namespace may have taken it. */
  readonly isOurs: () => boolean;
  /** Ends the possession. Does nothing the second time. Never throws. */
  readonly release: () => void;
}

const LOCK = { waitMs: 20_000 };
/** A third of the time after which a holder in another process namespace counts as dead. */
const RENEWAL_MS = 20_000;

/** Returns whether a live process holds it. */
export function isHeld(path: string): boolean {
  const owner = readOwner(path);
  return typeof owner === 'object' && ownerLives(owner, path);
}

/**
 * Takes what the file at `path` stands for; null while a live process holds it, this one included. A dead holder is
 * replaced. The lock is held for a moment alone: the work takes minutes, and this process has other work meanwhile.
 */
export function takeHold(path: string): Hold | null {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const owner = newOwner();
  const taken = withLock(`${path}.lock`, LOCK, () => {
    if (isHeld(path)) return false;
    for (const draft of draftsOf(path)) removeIfThere(draft);
    writeAtomically(path, JSON.stringify(owner));
    return true;
  });
  if (!taken) return null;
  const renewal = setInterval(() => renew(path, owner.token), RENEWAL_MS);
  renewal.unref();
  let isOver = false;
  const release = (): void => {
    if (isOver) return;
    isOver = true;
    clearInterval(renewal);
    try {
      withLock(`${path}.lock`, LOCK, () => {
        if (isOurs(path, owner.token)) removeIfThere(path);
      });
    } catch {
      // The file system fails: the hold ends with this process.
    }
  };
  return { release, isOurs: () => isOurs(path, owner.token) };
}

/** Lists what a process left that was killed as it wrote the file. Under the lock nobody else writes it. */
function draftsOf(path: string): string[] {
  const [folder, start] = [dirname(path), `${basename(path)}.`];
  const names = namesIn(folder).filter(
    (name) => name.startsWith(start) && /^[^.]+\.tmp$/.test(name.slice(start.length)),
  );
  return names.map((name) => join(folder, name));
}

function renew(path: string, token: string): void {
  const now = new Date();
  try {
    if (isOurs(path, token)) utimesSync(path, now, now);
  } catch {
    // Shown by the next call that matters; holders of this namespace are known by their process.
  }
}

function isOurs(path: string, token: string): boolean {
  const owner = readOwner(path);
  return typeof owner === 'object' && owner.token === token;
}
