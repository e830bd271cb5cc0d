import { advise, RalphError } from '../../text/message.ts';
import { pauseThread } from '../files/regular-file.ts';
import { type FoundOwner, type LockOwner, newOwner, ownerLives, publishLock, readOwner, removeLock } from './owner.ts';

/** Throws RalphError `state-io` if the lock was lost because a person or another machine removed it. */
type AssertHeld = () => void;

/** Maximum wait for a living owner, in milliseconds; after that a hook allows the stop and a command fails. */
const WAIT_MS = 10_000;
/** Maximum depth of markers of crashed reapers at which a contender gives up. */
const MAX_DEPTH = 8;
/** Minimum number of attempts, however short the wait, so that a contender can remove and take a dead owner's lock. */
const LEAST_LOOKS = 4;
/** Attempts over 0.3 s in total: a scanner on Windows may hold a file that long. */
const RELEASE_ATTEMPTS = 10;

/** Tokens of this process that own nothing any more, although a file that could not be removed may still name them. */
const abandoned = new Set<string>();

/**
 * Runs `work` while holding the lock at `path`, and returns its result. There are never two holders: the lock appears
 * together with its owner, in one step (owner.ts), and a token is published once; only the owner itself removes its lock
 * while it lives; a dead owner's lock with token T is removed only by the holder of the marker for T, itself a lock of this
 * kind, who has seen T in the lock while holding the marker. A late contender with the same marker finds another token, or
 * none. A lock without a readable owner is removed in the same way, under the marker for no token, and so is the marker of a
 * dead reaper. Throws RalphError `lock-timeout` if a living owner keeps the lock too long, and the system's error otherwise.
 */
export function withLock<T>(path: string, work: (assertHeld: AssertHeld) => T, waitMs: number = WAIT_MS): T {
  return holding(path, now() + waitMs, 0, work);
}

function holding<T>(path: string, deadline: number, depth: number, work: (assertHeld: AssertHeld) => T): T {
  const token = acquire(path, deadline, depth);
  let result: T;
  try {
    result = work(() => assertOwn(path, token));
  } catch (error) {
    giveBack(path, token);
    throw error;
  }
  release(path, token);
  return result;
}

function acquire(path: string, deadline: number, depth: number): string {
  let found: FoundOwner = 'gone';
  for (let look = 1; ; look++) {
    const mine = found === 'gone' ? newOwner() : null;
    if (mine && publish(path, mine)) return mine.token;
    found = readOwner(path);
    // A network file system that sent our request twice can report that the link already exists.
    if (typeof found === 'object' && found.token === mine?.token) return mine.token;
    const dead = depth < MAX_DEPTH ? deadToken(found, path) : null;
    if (look >= LEAST_LOOKS && now() >= deadline) throw timeout(path, found);
    if (dead !== null) {
      reap(path, dead, deadline, depth);
      found = 'gone';
    } else if (found !== 'gone' || look > LEAST_LOOKS) {
      pauseThread(Math.min(2 * look, 20) * (0.5 + Math.random()));
    }
  }
}

function publish(path: string, mine: LockOwner): boolean {
  try {
    return publishLock(path, mine);
  } catch (error) {
    abandoned.add(mine.token);
    giveBack(path, mine.token); // a network file system can report a failure after making the link
    throw error;
  }
}

/** Returns the token of a dead owner's lock, '' for a lock without an owner, null for any other. */
function deadToken(found: FoundOwner, path: string): string | null {
  if (found === 'gone') return null;
  if (found === 'unreadable') return '';
  return abandoned.has(found.token) || !ownerLives(found, path) ? found.token : null;
}

function reap(path: string, token: string, deadline: number, depth: number): void {
  holding(`${path}.reap-${token.slice(-8)}`, deadline, depth + 1, () => {
    if (deadToken(readOwner(path), path) === token) removeLock(path);
  });
}

function release(path: string, token: string): void {
  for (let attempt = 1; ; attempt++) {
    try {
      if (attempt > 1 && readOwner(path) === 'gone') return;
      assertOwn(path, token);
      removeLock(path);
      return;
    } catch (error) {
      if (error instanceof RalphError) throw error;
      if (attempt === RELEASE_ATTEMPTS) {
        abandoned.add(token);
        throw error;
      }
      pauseThread(attempt * 6);
    }
  }
}

/** Releases the lock, if it is ours, after a failure that matters more than an error of the release. */
function giveBack(path: string, token: string): void {
  try {
    release(path, token);
  } catch {
    // Not ours, or recorded as abandoned.
  }
}

function assertOwn(path: string, token: string): void {
  const found = readOwner(path);
  if (typeof found === 'object' && found.token === token) return;
  const message = `the lock ${path} was taken away from process ${process.pid}; its change may not count.`;
  throw new RalphError('state-io', advise(message, 'Check it', 'status'));
}

function timeout(path: string, owner: FoundOwner): RalphError {
  const who = typeof owner === 'object' ? `process ${owner.pid}` : 'an unknown owner';
  const message = `the lock ${path} is still held by ${who}. If no such process works on this loop, delete that file.`;
  return new RalphError('lock-timeout', message);
}

/** Returns the milliseconds of a monotonic clock. */
function now(): number {
  return process.uptime() * 1000;
}
