import { fstatSync } from 'node:fs';

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
