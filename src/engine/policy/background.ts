import type { Policy } from '../schema/contract.ts';
import { readSignals } from '../signals/signals.ts';

/** Default of `background_wait`. */
export const BACKGROUND_WAIT_MS = 1_800_000;
/** Wait of a claim for shells alone under the default: a server or a watcher never ends, and the checks can run beside it. */
const CLAIM_WAIT_MS = 60_000;

/**
 * Returns the milliseconds that the end of an agent's message waits for background work: `background_wait`, or a minute if the
 * message claims completion, only shells are left, and the user has not set another wait.
 */
export function backgroundWait(policy: Policy, message: string, onlyShells: boolean): number {
  const { backgroundWaitMs } = policy;
  if (!onlyShells || backgroundWaitMs !== BACKGROUND_WAIT_MS) return backgroundWaitMs;
  return readSignals(message, policy).completion === 'claimed' ? CLAIM_WAIT_MS : backgroundWaitMs;
}
