import { closeSync, fsyncSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { pauseThread } from './pause-thread.ts';
import { removeIfThere } from './remove-if-there.ts';
import { uniqueToken } from './unique-token.ts';

/**
 * Puts `content` at `path` so that a reader, and a machine that crashes at any moment, finds the old content or the
 * new one, whole: private random name, every byte, fsync, rename, fsync of the directory. Throws what the system
 * says; then the old content stands and no draft is left behind.
 */
export function writeAtomically(path: string, content: string, mode = 0o644): void {
  const draft = `${path}.${uniqueToken()}.tmp`;
  try {
    writeDurably(draft, content, mode);
    renameOver(draft, path);
  } catch (error) {
    removeIfThere(draft);
    throw error;
  }
  syncDirectory(dirname(path));
}

function writeDurably(path: string, content: string, mode: number): void {
  const descriptor = openSync(path, 'wx', mode);
  try {
    const bytes = Buffer.from(content);
    for (let at = 0; at < bytes.length; ) {
      const written = writeSync(descriptor, bytes, at);
      if (written === 0) throw new Error(`nothing could be written to ${path}`);
      at += written;
    }
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Virus scanners and indexers on Windows hold a file for a moment after it was written. */
function renameOver(from: string, to: string): void {
  for (let attempt = 1; ; attempt++) {
    try {
      renameSync(from, to);
      return;
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      const passing = process.platform === 'win32' && (code === 'EPERM' || code === 'EBUSY' || code === 'EACCES');
      if (!passing || attempt === 10) throw error;
      pauseThread(attempt * 10);
    }
  }
}

/** Makes the rename itself durable. Windows cannot open a directory; some file systems refuse to sync one. */
export function syncDirectory(path: string): void {
  if (process.platform === 'win32') return;
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch {
    return; // the rename is done and visible; only its durability over a power cut is the file system's own
  }
  try {
    fsyncSync(descriptor);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EINVAL' && code !== 'ENOTSUP' && code !== 'EPERM') throw error;
  } finally {
    closeSync(descriptor);
  }
}
