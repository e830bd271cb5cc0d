import { closeSync, fstatSync, openSync, readSync, writeSync } from 'node:fs';

/**
 * Appends one JSON line to a journal in one write, so that lines of several processes never mix. A torn last line of
 * a process that died is closed off first, so that this one stays readable.
 */
export function appendLine(path: string, entry: object): void {
  const descriptor = openSync(path, 'a+', 0o644);
  try {
    const bytes = Buffer.from(`${endsTorn(descriptor) ? '\n' : ''}${JSON.stringify(entry)}\n`);
    const written = writeSync(descriptor, bytes);
    if (written !== bytes.length)
      throw new Error(`only ${written} of ${bytes.length} bytes could be written to ${path}`);
  } finally {
    closeSync(descriptor);
  }
}

function endsTorn(descriptor: number): boolean {
  const stat = fstatSync(descriptor);
  // A FIFO takes what nobody will read, until it is full and takes no more.
  if (!stat.isFile()) throw new Error('it is no regular file');
  const { size } = stat;
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  return readSync(descriptor, last, 0, 1, size - 1) === 1 && last[0] !== 0x0a;
}
