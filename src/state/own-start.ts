import { readFileSync } from 'node:fs';

/** /proc counts in hundredths of a second everywhere. */
const TICK_MS = 10;
/** A shell that starts node by `exec` is this very process, and under load it can stand in the queue for long. */
const MOST_BEFORE_NODE_MS = 120_000;

/**
 * When the client started this process, in epoch milliseconds, give or take a few hundredths of a second: where the
 * system tells, before a shell became node; elsewhere, when node began.
 */
export function ownStart(): number {
  const now = Date.now();
  const node = now - process.uptime() * 1000;
  const first = now - ageMs();
  // A container may count its uptime from another moment than its processes.
  return first <= node && first > node - MOST_BEFORE_NODE_MS ? first : node;
}

function ageMs(): number {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const ticks = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]);
    return Number.parseFloat(readFileSync('/proc/uptime', 'utf8')) * 1000 - ticks * TICK_MS;
  } catch {
    return Number.NaN; // no /proc here
  }
}
