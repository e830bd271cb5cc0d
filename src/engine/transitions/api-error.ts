import type { ApiError, EngineEvent } from '../events.ts';
import type { LoopState } from '../schema/state.ts';
import { event, pause, type Transition } from './build.ts';

type Live = Exclude<LoopState, { status: 'ended' }>;

/** The API refused: the turn is over without a Stop. The loop rests until the limit has passed or the user resumes. */
export function apiError(state: Live, happened: Extract<EngineEvent, { type: 'api-error' }>): Transition {
  if (state.status === 'paused' || state.status === 'awaiting-consent') return { state, effects: [] };
  const { error, at } = happened;
  const limited = error.kind === 'rate-limited';
  const next = {
    ...pause(state, at, limited ? 'rate-limited' : 'api-error', messageOf(error), error.resetsAt),
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

function messageOf(error: ApiError): string {
  switch (error.kind) {
    case 'rate-limited':
      return error.resetsAt === null
        ? 'paused by a rate limit; the client did not say until when. Go on with: main.cjs resume, then send any message in the session.'
        : `paused by a rate limit until ${error.resetsAt}. After that send any message in the session and the loop goes on.`;
    case 'authentication':
      return `paused: the API refused the credentials (${error.message}). Log in again (/login), then: main.cjs resume, and send any message.`;
    case 'billing':
      return `paused: the API refused for billing reasons (${error.message}). Mend the account, then: main.cjs resume, and send any message.`;
    case 'invalid-request':
    case 'overloaded':
    case 'other':
      return `paused by an API error (${error.kind}: ${error.message}). Go on with: main.cjs resume, then send any message in the session.`;
    default:
      return error.kind satisfies never;
  }
}
