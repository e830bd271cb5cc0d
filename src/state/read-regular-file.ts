import { readFileSync, statSync } from 'node:fs';

/** The text of a regular file of at most `limit` bytes; null for whatever else lies there, or nothing. */
export function readRegularFile(path: string, limit: number): string | null {
  try {
    const stat = statSync(path);
    return stat.isFile() && stat.size <= limit ? readFileSync(path, 'utf8') : null;
  } catch {
    return null;
  }
}
