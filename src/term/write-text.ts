import { fstatSync, writeSync } from 'node:fs';
import { statFields } from '../state/process/identity.ts';
import { orElse } from '../text/or-else.ts';
import { wrapText } from './wrap.ts';

const unread = new Set<1 | 2>();

/** Writes a text with a final newline. A closed pipe (`| head`) ends the program quietly, or by its SIGHUP listener. */
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

/** Writes a text with a final newline, wrapped between words at the width of the terminal. */
export function printText(descriptor: 1 | 2, text: string): void {
  writeText(descriptor, wrapText(text, columnsOf(descriptor)));
}

/** Returns the width of the terminal; Infinity for a pipe or a file. */
export function columnsOf(descriptor: 1 | 2): number {
  if (!isTerminal(descriptor)) return Number.POSITIVE_INFINITY;
  return (descriptor === 1 ? process.stdout : process.stderr).columns || 80;
}

/** Returns true for a terminal. node's isTTY loads the network code (4 ms), so pipes and files are recognised before. */
export function isTerminal(descriptor: 1 | 2): boolean {
  const isDevice = orElse(() => fstatSync(descriptor).isCharacterDevice(), false); // it may be closed
  return isDevice && (descriptor === 1 ? process.stdout : process.stderr).isTTY === true;
}

/** Returns true in the foreground, or if unknown: a background job that changes terminal modes is stopped. */
export function inForeground(): boolean {
  // State, parent, process group, session, terminal, the terminal's foreground group.
  const [, , group, , , foreground] = statFields('self');
  return foreground === undefined || Number(foreground) <= 0 || group === foreground;
}

/** Rings the bell of the user's terminal, if there is one. */
export function ringBell(): void {
  if (isTerminal(2)) process.stderr.write('\u0007');
}
