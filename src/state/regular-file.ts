import { statSync } from 'node:fs';

/**
 * `path` again, for whoever is about to open it. Throws what the system says of one that cannot be looked at, and an
 * error of its own, without a code, for what is no regular file: a FIFO would be waited for until somebody writes to it,
 * a device read without an end.
 */
export function regularFile(path: string): string {
  if (statSync(path).isFile()) return path;
  throw new Error(`${path} is no regular file`);
}
