import { elapsed } from '../../text/time.ts';
import type { CommonState, LoopState } from '../schema/state.ts';

/**
 * Returns the milliseconds in which the loop has run or waited since its start: what `max_time` counts. Time does not count
 * while the loop is paused or awaits consent, between its end and its resume, and while its machine sleeps.
 */
export function timeSpent(state: LoopState, at: string): number {
  return Math.max(0, elapsed(state.startedAt, stoppedSince(state) ?? at) - (state.stoppedMs ?? 0));
}

/** Returns the time that `timeSpent` leaves out, including a pause that still lasts. */
export function timeStopped(state: LoopState, at: string): number {
  const until = state.status === 'ended' ? state.ended.at : at;
  return (state.stoppedMs ?? 0) + elapsed(stoppedSince(state) ?? until, until);
}

/** Returns since when time does not count; null for a loop that runs or waits. */
export function stoppedSince(state: LoopState): string | null {
  switch (state.status) {
    case 'paused':
      return state.paused.since;
    case 'ended':
      return state.ended.at;
    case 'awaiting-consent':
      return state.lastDecision?.at ?? state.startedAt;
    case 'running':
    case 'waiting':
    case 'verifying':
      return null;
    default:
      return state satisfies never;
  }
}

/** Adds the time from `since` to `at` to that in which the loop was stopped. */
export function stoppedFor<S extends CommonState>(state: S, since: string, at: string): S {
  const more = elapsed(since, at);
  return more === 0 ? state : { ...state, stoppedMs: (state.stoppedMs ?? 0) + more };
}

/** Returns the state after a transition, with the time that a pause or the wait for consent before it has lasted. */
export function afterStop(before: LoopState, after: LoopState, at: string): LoopState {
  const since = stoppedSince(before);
  return since === null ? after : stoppedFor(after, since, stoppedSince(after) ?? at);
}
