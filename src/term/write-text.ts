import { fstatSync, readFileSync, writeSync } from 'node:fs';

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

/**
 * Whether people read this descriptor. A pipe or a file is told by the descriptor alone: node's own answer loads its
 * network code first, 4 ms that the status line would pay every second.
 */
export function isTerminal(descriptor: 1 | 2): boolean {
  try {
    if (!fstatSync(descriptor).isCharacterDevice()) return false;
  } catch {
    return false; // closed
  }
  return (descriptor === 1 ? process.stdout : process.stderr).isTTY === true;
}

/**
 * Whether the terminal's keys come to this process. A job in the background that changes the modes of the terminal is
 * stopped by the system. Where nobody tells (not Linux), it is taken for the foreground.
 */
export function inForeground(): boolean {
  try {
    // After the name in parentheses: state, parent, process group, session, terminal, the terminal's foreground group.
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return foreground === undefined || Number(foreground) <= 0 || group === foreground;
  } catch {
    return true;
  }
}
