import { elapsed } from './clock.ts';
import type { LoopState } from './schema/state.ts';

/**
 * Whether the iteration in progress has had its time: milliseconds from its prompt on; null is no limit.
 * A turn that answers the user has all the time it takes.
 */
export function outOfTime({ turn, lastDecision }: LoopState, limitMs: number | null, at: string): boolean {
  if (limitMs === null || lastDecision === null) return false;
  const iterating = lastDecision.kind === 'prompt' || lastDecision.kind === 'started';
  return iterating && (turn === 'agent' || turn === 'first') && elapsed(lastDecision.at, at) > limitMs;
}
