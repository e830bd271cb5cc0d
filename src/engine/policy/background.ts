import type { Policy } from '../schema/contract.ts';
import { readSignals } from '../signals/signals.ts';

/** Default of `background_wait`. */
export const BACKGROUND_WAIT_MS = 1_800_000;

/**
 * Returns how long a turn's end waits for background work: `background_wait`, or `claimMs` if the message claims completion, only
 * shells are left, and the user has not set another wait. A server or watcher never ends, and checks can run beside it. Each
 * change of the project restarts the wait, since the work may belong to the task; `mostMs` limits it as a whole.
 */
export function backgroundLimit(policy: Policy, message: string, onlyShells: boolean, claimMs: number) {
  const { backgroundWaitMs: mostMs } = policy;
  const isShort = onlyShells && mostMs === BACKGROUND_WAIT_MS && readSignals(message, policy).completion === 'claimed';
  return { waitMs: isShort ? Math.min(claimMs, mostMs) : mostMs, mostMs };
}
