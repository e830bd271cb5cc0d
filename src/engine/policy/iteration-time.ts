import { elapsed } from '../../text/time.ts';
import type { LoopState } from '../schema/state.ts';

/** Returns whether the iteration in progress has exceeded its time limit. A turn that answers the user has none. */
export function outOfTime(state: LoopState, limitMs: number | null, at: string): boolean {
  const { turn, lastDecision } = state;
  if (limitMs === null || lastDecision === null) return false;
  const iterating = lastDecision.kind === 'prompt' || lastDecision.kind === 'started';
  return iterating && (turn === 'agent' || turn === 'first') && timeSinceDecision(state, at) > limitMs;
}

/** Returns the milliseconds since a loop's last decision, without sleep of its machine. */
export function timeSinceDecision({ lastDecision, startedAt }: LoopState, at: string): number {
  return Math.max(0, elapsed(lastDecision?.at ?? startedAt, at) - (lastDecision?.sleptMs ?? 0));
}
