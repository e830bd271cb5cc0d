import type { EventOf } from '../events.ts';
import { apiErrorText } from '../messages.ts';
import type { LiveState } from '../schema/state.ts';
import { event, pause, type Transition } from './build.ts';

/** Pauses the loop after an API error, until the rate limit resets or the user resumes. Such a turn ends without a Stop. */
export function apiError(state: LiveState, happened: EventOf<'api-error'>): Transition {
  if (state.status === 'paused' || state.status === 'awaiting-consent') return { state, effects: [] };
  const { error, at } = happened;
  const limited = error.kind === 'rate-limited';
  const next = {
    ...pause(state, at, limited ? 'rate-limited' : 'api-error', apiErrorText(error), error.resetsAt),
    turn: 'rest' as const,
  };
  return {
    state: next,
    effects: [
      event(next, at, 'loop.paused', { reason: next.paused.reason, error: error.kind, resetsAt: error.resetsAt }),
      { type: 'notify', message: next.paused.message },
    ],
  };
}
