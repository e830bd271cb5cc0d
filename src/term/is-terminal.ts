import { isatty } from 'node:tty';

/** Whether people read this descriptor. Asks the system: building process.stdout costs 5 ms. */
export function isTerminal(descriptor: 1 | 2): boolean {
  return isatty(descriptor);
}
