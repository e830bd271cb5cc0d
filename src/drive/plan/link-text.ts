import { readlinkSync } from 'node:fs';

/** What a symbolic link names, as it was written; null where no link lies. */
export function linkText(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null; // no link, or nothing
  }
}
