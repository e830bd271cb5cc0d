import { readFileSync } from 'node:fs';
import { identityOf } from './process-identity.ts';

/** Linux counts in hundredths of a second. */
const TICK_MS = 10;
/** A shell that becomes node by `exec` is this very process; under load it can stand in the queue for long. */
const MOST_BEFORE_NODE_MS = 120_000;

/**
 * When the client started this process, in epoch milliseconds, give or take a few hundredths of a second: where the
 * system tells, before a shell became node; elsewhere, when node began.
 */
export function ownStart(): number {
  const node = Date.now() - process.uptime() * 1000;
  const first = beganAt(identityOf(process.pid).startedAt);
  // No number, or a container that counts its uptime from another moment than its processes.
  return first <= node && first > node - MOST_BEFORE_NODE_MS ? first : node;
}

/** When a process with this start time (process-identity.ts) began, in epoch milliseconds; NaN where nobody tells. */
export function beganAt(startedAt: string | null): number {
  return Date.now() - uptimeMs() + Number(startedAt?.split(':')[1]) * TICK_MS;
}

/** NaN where there is no /proc. Loading node:os to be told the same costs a hook a tenth of a millisecond. */
function uptimeMs(): number {
  try {
    return Number.parseFloat(readFileSync('/proc/uptime', 'utf8')) * 1000;
  } catch {
    return Number.NaN;
  }
}
