import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { passesOnWindows, uniqueToken } from '../files/write-atomically.ts';
import { bootId, identityOf, isAlive, type ProcessIdentity, procLink } from '../process/identity.ts';

/** What stands in a lock file. */
export interface LockOwner extends ProcessIdentity {
  readonly token: string;
  /** The set of processes among which the process id means something. */
  readonly host: string;
}

/** The file in a lock that is a folder (see publish-lock.ts). */
export const OWNER_IN_FOLDER = 'owner';

/** `unreadable`: no owner stands in it, because power was cut before its content came to the disk. */
export type FoundOwner = LockOwner | 'gone' | 'unreadable';

/** A lock from another machine or process namespace: nobody can ask whether its owner lives, only how old it is. */
const FOREIGN_STALE_MS = 60_000;

let self: ProcessIdentity | undefined;

/** This process as the owner of one lock, with a token that no other lock ever had. */
export function newOwner(): LockOwner {
  if (self === undefined || self.startedAt === null) self = identityOf(process.pid);
  return { ...self, token: uniqueToken(), host: hostIdentity() };
}

export function readOwner(path: string): FoundOwner {
  let text: string;
  try {
    const stat = statSync(path);
    // A FIFO would be waited for until somebody writes to it.
    if (!stat.isFile() && !stat.isDirectory()) return 'unreadable';
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EISDIR') return readOwner(join(path, OWNER_IN_FOLDER));
    if (code === 'ENOENT' || passesOnWindows(error)) return 'gone';
    throw error;
  }
  try {
    const { pid, startedAt, token, host } = JSON.parse(text) as Partial<LockOwner>;
    if (typeof pid !== 'number' || typeof token !== 'string' || token === '') return 'unreadable';
    return { pid, startedAt: startedAt ?? null, token, host: host ?? '' };
  } catch {
    return 'unreadable';
  }
}

/** Whether the owner that stands in the file at `path` may still be at work. */
export function ownerLives(owner: LockOwner, path: string): boolean {
  if (owner.host === hostIdentity()) return isAlive(owner);
  try {
    return Date.now() - statSync(path).mtimeMs <= FOREIGN_STALE_MS;
  } catch {
    return true; // gone: the next look will see
  }
}

let knownNamespace: string | null = null;

/**
 * One boot and one process namespace of one machine on Linux, the machine's name elsewhere. The initial namespace has
 * the same number on every machine, so only the boot's id tells two machines on one network file system apart.
 */
function hostIdentity(): string {
  knownNamespace ??= procLink('self/ns/pid');
  return knownNamespace === null ? `${process.platform} ${machineName()}` : `${bootId()} ${knownNamespace}`;
}

/** Not imported: node:os would cost every hook half a millisecond on the systems that never ask it. */
function machineName(): string {
  return process.getBuiltinModule?.('node:os').hostname() ?? process.env['HOSTNAME'] ?? process.platform;
}
