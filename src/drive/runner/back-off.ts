/** How many times a run that broke is tried again, before the loop ends. */
export const MOST_RETRIES = 5;

/** The longest wait between two tries. */
const MOST_MS = 120_000;

/**
 * How long to wait before try `nth` (0 is the first): doubled each time, at most two minutes or the first wait where
 * that is longer, and of that half to all, as `random` in [0, 1) says, so that many loops do not come back at once.
 */
export function backOff(firstMs: number, nth: number, random: number): number {
  const whole = Math.min(firstMs * 2 ** nth, Math.max(firstMs, MOST_MS));
  return Math.round(whole * (0.5 + random / 2));
}
