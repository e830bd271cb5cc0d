import { lstatSync, readdirSync, readFileSync, statSync, unlinkSync } from 'node:fs';

/** Returns the text of a regular file of at most `limit` bytes; null for anything else. */
export function readRegularFile(path: string, limit: number): string | null {
  try {
    const stat = statSync(path);
    return stat.isFile() && stat.size <= limit ? readFileSync(path, 'utf8') : null;
  } catch {
    return null;
  }
}

/** Limit of every task and configuration file: parsing one of some gigabytes would never end. */
export const TASK_FILE_BYTES = 8 * 1024 * 1024;

/**
 * Returns `path` if it is a regular file of at most `limit` bytes: opening a FIFO would block, and a device may be
 * endless. Throws otherwise, with the code EFBIG if the file is too large.
 */
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
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return path;
  }
}

/** Lists the names in a directory; empty if it does not exist. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

export function removeIfThere(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
