import {
  closeSync,
  constants,
  fsyncSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { jsonOrNull } from '../../text/json.ts';
import { isAlive } from '../process/identity.ts';

/** Size limit of every task and configuration file: parsing several gigabytes would take forever. */
export const TASK_FILE_BYTES = 8 * 1024 * 1024;

/** Returns the text of a regular file of at most `limit` bytes; null for anything else, or if it is out of reach. */
export function readRegularFile(path: string, limit = TASK_FILE_BYTES): string | null {
  return ifOutOfReach(() => {
    const stat = statSync(path);
    return stat.isFile() && stat.size <= limit ? readFileSync(path, 'utf8') : null;
  }, null);
}

/** Returns the result of `work`, or `otherwise` if nothing is at its path (ENOENT, ENOTDIR). Throws other errors. */
export function ifMissing<T, U>(work: () => T, otherwise: U): T | U {
  try {
    return work();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return otherwise;
    throw error;
  }
}

/** Codes of a path that the user cannot reach: it does not exist, may not be read, or is not a valid file name. */
const OUT_OF_REACH = new Set([
  'ENOENT',
  'ENOTDIR',
  'EACCES',
  'EPERM',
  'ELOOP',
  'ENAMETOOLONG',
  'ERR_INVALID_ARG_VALUE',
]);

/**
 * Returns the result of `work`, or `otherwise` if the user cannot reach its path. Throws every other error, such as a failing
 * disk or too many open files, which say nothing about the path.
 */
export function ifOutOfReach<T, U>(work: () => T, otherwise: U): T | U {
  try {
    return work();
  } catch (error) {
    if (OUT_OF_REACH.has((error as NodeJS.ErrnoException).code ?? '')) return otherwise;
    throw error;
  }
}

/** Returns whether there is a folder at the path, or a link to one. */
export function isFolder(path: string): boolean {
  return ifOutOfReach(() => statSync(path).isDirectory(), false);
}

/** Returns the path without symbolic links; null if nothing exists there. */
export function realPathOf(path: string): string | null {
  return ifOutOfReach(() => realpathSync(path), null);
}

/** Returns `path` if it is a regular file of at most `limit` bytes. Throws otherwise; EFBIG if it is larger. */
export function regularFile(path: string, limit = Number.POSITIVE_INFINITY): string {
  const stat = statSync(path);
  if (!stat.isFile()) throw new Error(`${path} is not a regular file`);
  if (stat.size <= limit) return path;
  throw Object.assign(new Error(`${path} has ${stat.size} bytes; at most ${limit} are read`), { code: 'EFBIG' });
}

/** Returns the first of `stem.ext`, `stem.2.ext`, … that does not exist. */
export function freePath(stem: string, extension = '', separator = '.'): string {
  for (let copy = 1; ; copy++) {
    const path = `${stem}${copy === 1 ? '' : `${separator}${copy}`}${extension}`;
    // Below a file, nothing exists.
    if (ifMissing(() => lstatSync(path, { throwIfNoEntry: false }), undefined) === undefined) return path;
  }
}

/** Lists the names in a directory; empty if there is none, or only the placeholder of the client's sandbox. */
export function namesIn(directory: string): string[] {
  return ifMissing(() => readdirSync(directory), []);
}

/** Moves a folder aside that stands where a file belongs, which no file can replace. */
export function moveFolderAside(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true) renameSync(path, freePath(path, '.folder'));
}

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}

/**
 * Replaces a file atomically and durably: writes a draft under a random name, fsync, rename, fsync of the directory. A reader,
 * also after a crash of the machine, finds the old content or the new. Throws the system's error and removes the draft. If it
 * waits only for the content, a crash of the machine may bring back the old file; if for nothing, also leave it empty or torn.
 * Only the user can read the file unless `mode` says otherwise, because output of commands and agents may contain secrets.
 */
export function writeAtomically(
  path: string,
  content: string | Uint8Array,
  mode = 0o600,
  waitsFor: 'name' | 'content' | 'nothing' = 'name',
): void {
  const draft = `${path}.${uniqueToken()}.tmp`;
  try {
    withDescriptor(draft, 'wx', mode, (descriptor) => {
      writeWhole(descriptor, content, draft);
      if (waitsFor !== 'nothing') fsyncSync(descriptor);
    });
    renameOver(draft, path);
  } catch (error) {
    quietly(() => removeIfThere(draft));
    throw error;
  }
  if (waitsFor === 'name') syncDirectory(dirname(path));
}

/** Returns the permissions of a user's file that is about to be replaced; the default for a new file if there is none. */
export function modeOf(path: string): number {
  return (statSync(path, { throwIfNoEntry: false })?.mode ?? 0o644) & 0o777;
}

/** Removes the drafts of processes that were killed while writing this file. */
export function removeDrafts(path: string): void {
  const start = `${basename(path)}.`;
  for (const name of namesIn(dirname(path))) {
    const isDraft = name.startsWith(start) && name.endsWith('.tmp');
    if (isDraft && isOfDeadProcess(name.slice(start.length, -'.tmp'.length))) removeIfThere(join(dirname(path), name));
  }
}

/** Flags for reading without blocking on a FIFO and without following a link that has replaced the file. */
export const READ_PLAIN = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** Opens a file, passes its descriptor to `work` and closes it. An error of `work`, such as a full disk, names the file. */
export function withDescriptor<T>(
  path: string | Buffer,
  flags: string | number,
  mode: number,
  work: (descriptor: number) => T,
): T {
  const descriptor = openSync(path, flags, mode);
  try {
    return work(descriptor);
  } catch (error) {
    const { syscall, path: named } = error as NodeJS.ErrnoException;
    throw syscall === undefined || named !== undefined ? error : Object.assign(error as Error, { path: String(path) });
  } finally {
    closeSync(descriptor);
  }
}

function renameOver(from: string, to: string): void {
  for (let attempt = 1; ; attempt++) {
    try {
      renameSync(from, to);
      return;
    } catch (error) {
      if (!passesOnWindows(error) || attempt === 10) throw error;
      pauseThread(attempt * 10);
    }
  }
}

/** Ignores errors when removing a draft: sweep-leftovers removes it once this process has ended. */
export function quietly(remove: () => void): void {
  try {
    remove();
  } catch {
    // If the file system is broken, the next relevant call reports it.
  }
}

/** Makes a rename in this directory durable, if the system can sync directories. */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  try {
    withDescriptor(path, 'r', 0, fsyncSync);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EINVAL' && code !== 'ENOTSUP') throw error;
  }
}

/** Writes all bytes. `path` is for the error message. */
export function writeWhole(descriptor: number, content: string | Uint8Array, path: string): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let at = 0; at < bytes.length; ) {
    const written = writeSync(descriptor, bytes, at);
    if (written === 0) throw new Error(`only ${at} of ${bytes.length} bytes could be written to ${path}`);
    at += written;
  }
}

let serial = 0;

/** Returns whether the process that made this token has ended. The first part of a token is its id in base 36. */
export function isOfDeadProcess(token: string): boolean {
  const pid = /^([0-9a-z]+)-[0-9a-z]+-[0-9a-z]{9,}$/.exec(token)?.[1];
  return pid !== undefined && !isAlive({ pid: Number.parseInt(pid, 36), startedAt: null });
}

/** Returns a name that no other process or call uses. Unique, not secret: node:crypto would cost a hook 2.5 ms. */
export function uniqueToken(): string {
  serial += 1;
  const clock = process.hrtime.bigint().toString(36);
  const random = Math.floor(Math.random() * 36 ** 8).toString(36);
  return `${process.pid.toString(36)}-${clock}-${serial.toString(36)}${random.padStart(8, '0')}`;
}

/** Returns whether an error on Windows is temporary: scanners and indexers hold a file briefly after a write. */
export function passesOnWindows(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return process.platform === 'win32' && (code === 'EPERM' || code === 'EBUSY' || code === 'EACCES');
}

let cell: Int32Array | undefined;

/** Blocks this thread while a lock is contended, for a few milliseconds. */
export function pauseThread(milliseconds: number): void {
  cell ??= new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(cell, 0, 0, milliseconds);
}

/** Writes a whole text to standard output (1) or standard error (2). */
export function writeAll(descriptor: 1 | 2, text: string): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error;
      pauseThread(2);
    }
  }
}

/** Size limit: more than a prompt with the output of all commands. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Reads a JSON record; null if it is missing, too large, or torn. The caller validates its content. */
export function readRecord<T>(path: string): Partial<T> | null {
  return jsonOrNull(readRegularFile(path, MOST_BYTES) ?? '') as Partial<T> | null;
}

/** Replaces a JSON record that only the user can read, and creates its folder. Throws system errors. */
export function writeRecord(path: string, record: object, waitsFor: 'name' | 'content' = 'name'): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeAtomically(path, `${JSON.stringify(record)}\n`, 0o600, waitsFor);
}
