import { apiFailure, lastApiError } from '../claude/api-failure.ts';
import { isBefore } from '../core/clock.ts';
import { transition } from '../core/transition.ts';
import { readContract } from '../state/contract-store.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { withState } from '../state/with-state.ts';
import { carryOut } from './carry-out.ts';
import { LOCK_WAIT } from './lock-wait.ts';

/**
 * Records the API error that ended a headless client, found at the end of its transcript: under `-p` the client ends
 * its StopFailure hook before that can say anything. One from before `since`, when this client began, was noted then.
 */
export function noteApiError(files: LoopFiles, loopId: string, at: string, since: string): void {
  const stored = readContract(files);
  if (stored === null) return;
  const effects = withState(files, LOCK_WAIT, (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loopId) return { next: 'keep' as const, result: [] };
    const { state } = current;
    const noted = lastApiError(state.marks.transcriptPath);
    if (noted === null || state.status === 'paused' || isBefore(noted.at ?? at, since))
      return { next: 'keep' as const, result: [] };
    const error = apiFailure({}, state.marks.transcriptPath);
    const next = transition(state, { type: 'api-error', at, error }, stored.contract.policy);
    return { next: next.state, result: next.effects };
  });
  carryOut(files, at, effects);
}
