import { closeSync, linkSync, openSync, readFileSync, statSync, unlinkSync, writeSync } from 'node:fs';
import { RalphError } from '../core/ralph-error.ts';
import { pauseThread } from './pause-thread.ts';
import { identityOf, isAlive } from './process-identity.ts';
import { removeIfThere } from './remove-if-there.ts';
import { uniqueToken } from './unique-token.ts';

export interface LockOptions {
  /** How long to wait for a living owner, in milliseconds. */
  readonly waitMs: number;
}

interface Owner {
  readonly pid: number;
  readonly startedAt: string | null;
  readonly token: string;
  readonly host: string;
}

/** Crashed reapers can leave at most this many markers in a row before a contender gives up. */
const MAX_DEPTH = 8;
/** A lock from another machine or process namespace: nobody can ask whether its owner lives, only how old it is. */
const FOREIGN_STALE_MS = 60_000;
/** On file systems without hard links a lock is visible for a moment before its content is. */
const EMPTY_STALE_MS = 2_000;

/**
 * Runs `work` while holding the lock at `path`, and gives back what it gives. The lock is published by link(2) together
 * with its content, so that it never exists without an owner; a dead owner's lock is removed by one elected reaper, for
 * that very token. Throws RalphError `lock-timeout` when a living owner keeps it too long.
 */
export function withLock<T>(path: string, options: LockOptions, work: () => T): T {
  acquire(path, Date.now() + options.waitMs, 0);
  try {
    return work();
  } finally {
    unlinkSync(path);
  }
}

function acquire(path: string, deadline: number, depth: number): void {
  const mine: Owner = { ...identityOf(process.pid), token: uniqueToken(), host: hostIdentity() };
  for (let attempt = 0; ; attempt++) {
    if (publish(path, mine)) return;
    const owner = readOwner(path);
    if (owner === 'gone') continue;
    if (owner !== 'unreadable' && !ownerLives(owner, path) && depth < MAX_DEPTH) {
      reap(path, owner.token, deadline, depth);
      continue;
    }
    if (owner === 'unreadable' && olderThan(path, EMPTY_STALE_MS) && depth < MAX_DEPTH) {
      reap(path, '', deadline, depth);
      continue;
    }
    if (Date.now() >= deadline) throw timeout(path, owner);
    pauseThread(Math.min(2 + attempt * 2, 20) * (0.5 + Math.random()));
  }
}

/** true when this process now owns the lock, false when somebody else does. */
function publish(path: string, owner: Owner): boolean {
  const content = JSON.stringify(owner);
  const draft = `${path}.${owner.token}`;
  try {
    writeWhole(draft, content);
    try {
      linkSync(draft, path);
      return true;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EEXIST') return false;
      if (code === 'EPERM' || code === 'ENOTSUP' || code === 'EOPNOTSUPP' || code === 'ENOSYS' || code === 'EMLINK') {
        return publishWithoutLinks(path, content);
      }
      throw error;
    }
  } finally {
    removeIfThere(draft);
  }
}

function publishWithoutLinks(path: string, content: string): boolean {
  try {
    writeWhole(path, content);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function writeWhole(path: string, content: string): void {
  const descriptor = openSync(path, 'wx', 0o600);
  try {
    const bytes = Buffer.from(content);
    for (let at = 0; at < bytes.length; ) at += writeSync(descriptor, bytes, at);
  } finally {
    closeSync(descriptor);
  }
}

function readOwner(path: string): Owner | 'gone' | 'unreadable' {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'gone';
    throw error;
  }
  try {
    const owner = JSON.parse(text) as Partial<Owner>;
    if (typeof owner.pid !== 'number' || typeof owner.token !== 'string') return 'unreadable';
    return { pid: owner.pid, startedAt: owner.startedAt ?? null, token: owner.token, host: owner.host ?? '' };
  } catch {
    return 'unreadable';
  }
}

function ownerLives(owner: Owner, path: string): boolean {
  if (owner.host !== hostIdentity()) return !olderThan(path, FOREIGN_STALE_MS);
  return isAlive(owner);
}

/**
 * Removes the dead owner's lock. Only the holder of the marker for that token may do so, and it looks again under the
 * marker: so a lock that somebody took over in the meantime is never removed. A reaper that dies leaves a marker with
 * a dead owner, which the next contender reaps in the same way.
 */
function reap(path: string, token: string, deadline: number, depth: number): void {
  const marker = `${path}.reap-${token.slice(-12)}`;
  acquire(marker, deadline, depth + 1);
  try {
    const owner = readOwner(path);
    const same = owner === 'unreadable' ? token === '' : owner !== 'gone' && owner.token === token;
    if (same) unlinkSync(path);
  } finally {
    unlinkSync(marker);
  }
}

function olderThan(path: string, milliseconds: number): boolean {
  try {
    return Date.now() - statSync(path).mtimeMs > milliseconds;
  } catch {
    return false; // gone: the next attempt will see
  }
}

function timeout(path: string, owner: Owner | 'unreadable'): RalphError {
  const who = owner === 'unreadable' ? 'an unreadable owner' : `process ${owner.pid}`;
  return new RalphError(
    'lock-timeout',
    `the lock ${path} is still held by ${who}. If no such process works on this loop, delete that file.`,
  );
}

let knownHost: string | undefined;

/** Names the set of processes among which a process id means something: boot id and namespace on Linux. */
function hostIdentity(): string {
  knownHost ??= process.platform === 'linux' ? linuxHost() : (process.env['COMPUTERNAME'] ?? process.platform);
  return knownHost;
}

function linuxHost(): string {
  try {
    return String(statSync('/proc/self/ns/pid').ino);
  } catch {
    return 'linux';
  }
}
