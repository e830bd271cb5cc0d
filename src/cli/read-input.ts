import { readStdin } from '../hosts/hook-io/stdio.ts';
import { RalphError } from '../text/message.ts';

/** Size limit of what a command reads from standard input, in bytes. */
const LIMIT = 4 * 1024 * 1024;

/**
 * Reads standard input to its end. At a terminal Ctrl+D is its end, and Ctrl+C ends the program at once. Throws `usage` if it is
 * longer than 4 MiB.
 */
export function readInput(): string {
  const text = interruptible(() => readStdin(LIMIT));
  if (text === null) throw new RalphError('usage', 'standard input is longer than 4 MiB. Pass a file.');
  return text;
}

/** Does work that blocks. Ctrl+C ends the program meanwhile: a library's handler would run only after the work. */
export function interruptible<T>(work: () => T): T {
  const handlers = process.listeners('SIGINT');
  process.removeAllListeners('SIGINT');
  try {
    return work();
  } finally {
    for (const handler of handlers) process.on('SIGINT', handler);
  }
}
