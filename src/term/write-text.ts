import { writeSync } from 'node:fs';

const unread = new Set<1 | 2>();

/**
 * Writes a text and its last newline to standard output or standard error, whole. A reader that has gone (`| head`)
 * ends the program quietly; where somebody listens for SIGHUP, who has a loop to leave in order, it is told by that, and
 * nothing more is written.
 */
export function writeText(descriptor: 1 | 2, text: string): void {
  if (unread.has(descriptor)) return;
  const bytes = Buffer.from(text.endsWith('\n') ? text : `${text}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE') {
        unread.add(descriptor);
        if (process.emit('SIGHUP', 'SIGHUP')) return;
        process.exit(0);
      }
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  }
}
