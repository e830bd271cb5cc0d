import { closeSync, fsyncSync, openSync, renameSync } from 'node:fs';
import { dirname } from 'node:path';
import { passesOnWindows } from './passes-on-windows.ts';
import { pauseThread } from './pause-thread.ts';
import { removeIfThere } from './remove-if-there.ts';
import { uniqueToken } from './unique-token.ts';
import { writeWhole } from './write-whole.ts';

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
