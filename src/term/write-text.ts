import { writeSync } from 'node:fs';

/**
 * Writes a text and its last newline to standard output or standard error, whole. A reader that has gone (`| head`)
 * ends the program quietly.
 */
export function writeText(descriptor: 1 | 2, text: string): void {
  const bytes = Buffer.from(text.endsWith('\n') ? text : `${text}\n`);
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'EPIPE') process.exit(0);
      if (code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
    }
  }
}
