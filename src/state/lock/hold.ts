import { mkdirSync, utimesSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { removeDrafts, removeIfThere, writeAtomically } from '../files/regular-file.ts';
import { withLock } from './lock.ts';
import { isOwnedBy, type LockOwner, newOwner, ownerLives, readOwner } from './owner.ts';

/** Exclusive hold for minutes or hours, which ends with its process at the latest. */
export interface Hold {
  /** Returns whether the hold is still ours: after a long sleep, a process in another namespace may have taken it. */
  readonly isOurs: () => boolean;
  /** Releases the hold. Does nothing when repeated. Never throws. */
  readonly release: () => void;
}

const LOCK = { waitMs: 20_000 };
/** Renewal interval: a third of the time after which a holder in another process namespace counts as dead. */
const RENEWAL_MS = 20_000;

/** Returns whether a live process holds it. */
export function isHeld(path: string): boolean {
  const owner = readOwner(path);
  return typeof owner === 'object' && ownerLives(owner, path);
}

/**
 * Takes the hold of the file at `path`; null while a live process has it, including this one. A dead holder is replaced. The
 * lock is held only briefly, because the work takes minutes and this process has other work meanwhile.
 */
export function takeHold(path: string): Hold | null {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const owner = newOwner();
  const taken = withLock(`${path}.lock`, LOCK, () => {
    if (isHeld(path)) return false;
    removeDrafts(path);
    writeAtomically(path, JSON.stringify(owner));
    return true;
  });
  if (!taken) return null;
  const renewal = setInterval(() => renew(path, owner), RENEWAL_MS);
  renewal.unref();
  let isOver = false;
  const release = (): void => {
    if (isOver) return;
    isOver = true;
    clearInterval(renewal);
    try {
      withLock(`${path}.lock`, LOCK, () => {
        if (isOwnedBy(path, owner)) removeIfThere(path);
      });
    } catch {
      // The file system fails: the hold ends with this process.
    }
  };
  return { release, isOurs: () => isOwnedBy(path, owner) };
}

const POLL_MS = 100;

/** Takes the hold once it is free. Returns null if it stays taken for `waitMs`. Rejects with the abort's reason. */
export async function awaitHold(path: string, waitMs: number, signal?: AbortSignal): Promise<Hold | null> {
  for (const end = performance.now() + waitMs; ; await sleep(POLL_MS)) {
    const hold = takeHold(path);
    if (hold !== null || performance.now() >= end) return hold;
    signal?.throwIfAborted();
  }
}

function renew(path: string, owner: LockOwner): void {
  const now = new Date();
  try {
    if (isOwnedBy(path, owner)) utimesSync(path, now, now);
  } catch {
    // The next relevant call reports it; holders of this namespace are known by their process.
  }
}
