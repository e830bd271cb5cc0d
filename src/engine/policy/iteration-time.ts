import { elapsed } from '../../text/time.ts';
import type { LoopState } from '../schema/state.ts';

/** Returns whether the iteration in progress has exceeded its time limit. A turn that answers the user has none. */
export function outOfTime({ turn, lastDecision }: LoopState, limitMs: number | null, at: string): boolean {
  if (limitMs === null || lastDecision === null) return false;
  const iterating = lastDecision.kind === 'prompt' || lastDecision.kind === 'started';
  return iterating && (turn === 'agent' || turn === 'first') && elapsed(lastDecision.at, at) > limitMs;
}
