import { readFileSync, statSync, unlinkSync } from 'node:fs';

/** The text of a regular file of at most `limit` bytes; null for whatever else lies there, or nothing. */
export function readRegularFile(path: string, limit: number): string | null {
  try {
    const stat = statSync(path);
    return stat.isFile() && stat.size <= limit ? readFileSync(path, 'utf8') : null;
  } catch {
    return null;
  }
}

/**
 * `path` again, for whoever is about to open it. Throws what the system says of one that cannot be looked at, and an
 * error of its own, without a code, for what is no regular file: a FIFO would be waited for until somebody writes to it,
 * a device read without an end.
 */
export function regularFile(path: string): string {
  if (statSync(path).isFile()) return path;
  throw new Error(`${path} is no regular file`);
}

/** Removes a file of ours; one that is not there is as good as removed. */
export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
