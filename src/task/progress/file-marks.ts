import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readlinkSync, type Stats } from 'node:fs';
import { commitMark } from '../project-fingerprint.ts';

/** How much one snapshot reads. Beyond that a file is known by its size and its time. */
export interface ReadBudget {
  files: number;
  bytes: number;
}

/** A larger file is known by its size and its time. */
const MAX_FILE_BYTES = 5 * 1024 * 1024;
/** A FIFO that took a file's place since the look must not hold us up, nor a link lead us away. */
const READ_PLAIN = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export type Marked =
  /** `limited`: not read, for want of budget. */
  | { readonly kind: 'mark'; readonly mark: string; readonly limited: boolean }
  | { readonly kind: 'absent' | 'unreadable' };

/**
 * What tells whether a file has changed: its kind, size and time, and a hash of its content where it was read. A link
 * stands for itself, a folder for the repository in it. Never throws, and never waits for anybody.
 */
export function markFile(path: string, budget: ReadBudget): Marked {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return { kind: 'absent' };
    if (stat.isSymbolicLink()) return marked('link', stat, hashOf(readlinkSync(path)));
    if (stat.isDirectory()) return { kind: 'mark', mark: `repository ${commitMark(path)}`, limited: false };
    if (!stat.isFile()) return { kind: 'mark', mark: 'special', limited: false };
    const kind = (stat.mode & 0o111) === 0 ? 'file' : 'program';
    const limited = budget.files <= 0 || budget.bytes < stat.size;
    if (limited || stat.size > MAX_FILE_BYTES) return marked(kind, stat, '', limited && stat.size <= MAX_FILE_BYTES);
    budget.files -= 1;
    budget.bytes -= stat.size;
    return marked(kind, stat, hashOf(readPlain(path)));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { kind: code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : 'unreadable' };
  }
}

/** Whether two marks are of the same content. Where only one of them was read, size and time decide. */
export function isSameMark(one: string, other: string): boolean {
  if (one === other) return true;
  const [kind, size, time, hash = ''] = one.split(' ');
  const [otherKind, otherSize, otherTime, otherHash = ''] = other.split(' ');
  if (kind !== otherKind) return false;
  return hash !== '' && otherHash !== '' ? hash === otherHash : size === otherSize && time === otherTime;
}

function marked(kind: string, { size, mtimeMs }: Stats, hash: string, limited = false): Marked {
  return { kind: 'mark', mark: `${kind} ${size} ${mtimeMs} ${hash}`, limited };
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 22);
}

function readPlain(path: string): Buffer {
  const descriptor = openSync(path, READ_PLAIN);
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error(`${path} is no file any more`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
