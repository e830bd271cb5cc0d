import { writeSync } from 'node:fs';

/** Writes every byte, however little the system takes at a time. `path` is for the message only. */
export function writeWhole(descriptor: number, content: string | Uint8Array, path: string): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  for (let at = 0; at < bytes.length; ) {
    const written = writeSync(descriptor, bytes, at);
    if (written === 0) throw new Error(`only ${at} of ${bytes.length} bytes could be written to ${path}`);
    at += written;
  }
}
