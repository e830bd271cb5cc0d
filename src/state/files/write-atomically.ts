import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { removeIfThere } from './read-regular-file.ts';

/**
 * Puts `content` at `path` so that a reader, and a machine that crashes at any moment, finds the old content or the
 * new one, whole: private random name, every byte, fsync, rename, fsync of the directory. Throws what the system
 * says: the old content stands unless only the last fsync failed, and no draft is left behind where it can be removed.
 */
export function writeAtomically(path: string, content: string | Uint8Array, mode = 0o644): void {
  const draft = `${path}.${uniqueToken()}.tmp`;
  try {
    writeDurably(draft, content, mode);
    renameOver(draft, path);
  } catch (error) {
    discard(draft);
    throw error;
  }
  syncDirectory(dirname(path));
}

function writeDurably(path: string, content: string | Uint8Array, mode: number): void {
  const descriptor = openSync(path, 'wx', mode);
  try {
    writeWhole(descriptor, content, path);
    fsyncSync(descriptor);
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

/** What went wrong with the draft is told; that it cannot be removed either would only hide it. */
function discard(draft: string): void {
  try {
    removeIfThere(draft);
  } catch {
    // sweep-leftovers takes it once this process is gone
  }
}

/**
 * Makes a rename in this directory durable. Windows cannot open a directory, somebody may be allowed to write one but
 * not to read it, and some file systems refuse to sync one: then the rename is done and visible, and its durability
 * over a power cut is the file system's own. Throws on every other failure.
 */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  try {
    const descriptor = openSync(path, 'r');
    try {
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EINVAL' && code !== 'ENOTSUP') throw error;
  }
}

/** Writes every byte, however little the system takes at a time. `path` is for the message only. */
export function writeWhole(descriptor: number, content: string | Uint8Array, path: string): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let at = 0; at < bytes.length; ) {
    const written = writeSync(descriptor, bytes, at);
    if (written === 0) throw new Error(`only ${at} of ${bytes.length} bytes could be written to ${path}`);
    at += written;
  }
}

let serial = 0;

/** The form of a token; its first part is the process id in base 36. */
export const UNIQUE_TOKEN = /^([0-9a-z]+)-[0-9a-z]+-[0-9a-z]{9,}$/;

/**
 * A name that no other process and no other call uses: process id, its clock in nanoseconds, a serial number and
 * randomness. Unique, not secret: node:crypto would cost a hook 2.5 ms.
 */
export function uniqueToken(): string {
  serial += 1;
  const clock = process.hrtime.bigint().toString(36);
  const random = Math.floor(Math.random() * 36 ** 8).toString(36);
  return `${process.pid.toString(36)}-${clock}-${serial.toString(36)}${random.padStart(8, '0')}`;
}

/** Virus scanners, indexers and readers on Windows hold a file for a moment after it was written or removed. */
export function passesOnWindows(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return process.platform === 'win32' && (code === 'EPERM' || code === 'EBUSY' || code === 'EACCES');
}

let cell: Int32Array | undefined;

/** Blocks this thread for so many milliseconds. For the few milliseconds of a contended lock, nothing longer. */
export function pauseThread(milliseconds: number): void {
  cell ??= new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(cell, 0, 0, milliseconds);
}
