import { after, elapsed, isBefore } from '../../text/time.ts';
import type { IdlePolicy } from '../schema/contract.ts';
import type { IdleState } from '../schema/state.ts';

export const NOT_IDLE: IdleState = { since: null, consecutive: 0, lastCallAt: null };

/** Shifts the streak when the clock was set back from `before` to `at`, so that its elapsed time stays the same. */
export function clockSetBack(state: IdleState, before: string, at: string): IdleState {
  if (!isBefore(at, before)) return state;
  const moved = (instant: string | null): string | null =>
    instant === null ? null : after(at, -elapsed(instant, before));
  return { ...state, since: moved(state.since), lastCallAt: moved(state.lastCallAt) };
}

export function anotherIdle(state: IdleState, at: string): IdleState {
  return { since: state.since ?? at, consecutive: state.consecutive + 1, lastCallAt: at };
}

/**
 * Returns min(delay * backoff^(k-1), max_delay) for the k-th idle iteration, cut to the rest of `max`, after which the loop stops
 * (`last`); null if none is left.
 */
export function idleWait(state: IdleState, policy: IdlePolicy, at: string) {
  const left = policy.maxMs - idleElapsed(state, at);
  if (left <= 0) return null;
  const exponent = Math.max(0, state.consecutive - 1);
  const delay = Math.min(policy.delayMs * policy.backoff ** exponent, policy.maxDelayMs);
  return delay >= left ? { delayMs: left, last: true } : { delayMs: delay, last: false };
}

/** Returns the milliseconds since the first idle signal of the streak; 0 outside a streak. */
export function idleElapsed(state: IdleState, at: string): number {
  return state.since === null ? 0 : elapsed(state.since, at);
}
