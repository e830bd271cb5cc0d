import * as fs from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import lockfile from 'proper-lockfile';
import { readRecord, removeDrafts, removeIfThere, writeAtomically } from '../files/regular-file.ts';
import { withLock } from './lock.ts';
import { isHeld, isOwnedBy, leaseOf, newOwner, readOwner } from './owner.ts';

/** Exclusive hold for minutes or hours, which ends with its process at the latest. */
export interface Hold {
  /** Notes of the previous, dead holder; null without one. The file keeps them until this hold notes something. */
  readonly former: Readonly<Record<string, unknown>> | null;
  /** Returns whether the hold is still ours: after a long sleep, another machine's process may have taken it. */
  readonly isOurs: () => boolean;
  /** Notes facts in the file of a hold that is ours, for the next holder if this process is killed. */
  readonly note: (facts: object) => void;
  /** Releases the hold, unless another process has taken it. Does nothing when repeated. Never throws. */
  readonly release: () => void;
}

const LOCK_WAIT_MS = 20_000;
/** Age at which proper-lockfile considers an unrenewed lease stale. */
const STALE_MS = 30_000;

const underLock = <T>(path: string, work: () => T): T => withLock(`${path}.lock`, work, LOCK_WAIT_MS);

/**
 * Takes the hold of the file at `path`; null while a live process has it, including this one. A dead holder on this machine is
 * replaced at once, one on another machine when its lease has expired. proper-lockfile renews the lease, and `onLost` is called
 * if it could not. The lock itself is held only briefly, since the work takes minutes and this process has other work.
 */
export function takeHold(path: string, onLost: () => void = () => undefined): Hold | null {
  fs.mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  return underLock(path, () => {
    if (isHeld(path)) return null;
    removeDrafts(path);
    const isThere = readOwner(path) !== 'gone';
    const former = isThere ? readRecord<Record<string, unknown>>(path) : null;
    // The lock admits one process at a time, so the dead holder's lease has not changed. A torn file has no live holder.
    if (isThere) fs.rmSync(leaseOf(path), { recursive: true, force: true });
    const owner = newOwner();
    const isOurs = (): boolean => isOwnedBy(path, owner);
    // No process outlives a crash of the machine, so nothing waits for the disk.
    const write = (facts: object): void =>
      writeAtomically(path, JSON.stringify({ ...facts, ...owner }), 0o600, 'nothing');
    const note = (facts: object): void => {
      if (isOurs()) write(facts);
    };
    let isLost = false;
    let isOver = false;
    // Write our identity before taking the lease, so that a process killed in between is recognised as dead. The former
    // notes stay for the next holder, in case this process is killed before it notes anything.
    write(former ?? {});
    const dropLease = renewLease(path, isOurs, () => {
      isLost = true;
      onLost();
    });
    if (dropLease === null) {
      removeIfThere(path);
      return null;
    }
    const release = (): void => {
      if (isOver) return;
      isOver = true;
      try {
        underLock(path, () => {
          if (!isOurs()) return;
          if (!isLost) dropLease();
          removeIfThere(path);
        });
      } catch {
        // If the file system fails, the hold is released when this process exits.
      }
    };
    return { former, isOurs, note, release };
  });
}

/** Removes the files of a hold that is no longer used. */
export function clearHold(path: string): void {
  for (const each of [path, leaseOf(path)]) fs.rmSync(each, { recursive: true, force: true });
}

const POLL_MS = 100;

/** Takes the hold once it is free. Returns null if it stays taken for `waitMs`. Rejects with the abort reason. */
export async function awaitHold(path: string, waitMs: number, signal?: AbortSignal): Promise<Hold | null> {
  for (const end = performance.now() + waitMs; ; await sleep(POLL_MS)) {
    const hold = takeHold(path);
    if (hold !== null || performance.now() >= end) return hold;
    signal?.throwIfAborted();
  }
}

/** Takes and renews the lease; null if it is taken. proper-lockfile alone would remove another process's (`isOurs`). */
function renewLease(path: string, isOurs: () => boolean, onCompromised: () => void): (() => void) | null {
  let isTaken = false;
  const rmdirSync: typeof fs.rmdirSync = (lease, options) => {
    if (!isTaken || isOurs()) fs.rmdirSync(lease, options);
  };
  try {
    const options = { realpath: false, stale: STALE_MS, lockfilePath: leaseOf(path), onCompromised };
    const drop = lockfile.lockSync(path, { ...options, fs: { ...fs, rmdirSync } });
    isTaken = true;
    return drop;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ELOCKED') return null;
    removeIfThere(path);
    throw error;
  }
}
