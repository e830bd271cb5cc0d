import { closeSync, openSync } from 'node:fs';
import { regularFile } from '../../state/files/read-regular-file.ts';
import { readSome } from './stdio.ts';

const CHUNK = 64 * 1024;

/** Reads the last `limit` bytes of a regular file, or of standard input (`path` null). Throws the system's errors. */
export function readEnd(path: string | null, limit: number): Buffer {
  const descriptor = path === null ? 0 : openSync(regularFile(path), 'r');
  try {
    return readAll(descriptor, limit);
  } finally {
    if (path !== null) closeSync(descriptor);
  }
}

function readAll(descriptor: number, limit: number): Buffer {
  let chunks: Buffer[] = [];
  let held = 0;
  for (;;) {
    const chunk = Buffer.allocUnsafe(CHUNK);
    const length = readSome(descriptor, chunk);
    if (length === 0) return end(chunks, limit);
    chunks.push(chunk.subarray(0, length));
    held += length;
    if (held < 2 * limit + CHUNK) continue;
    chunks = [end(chunks, limit)];
    held = limit;
  }
}

function end(chunks: readonly Buffer[], limit: number): Buffer {
  const all = Buffer.concat(chunks);
  return all.subarray(Math.max(0, all.length - limit));
}
