import type { EngineEvent } from '../events.ts';
import { CLIENT_ENDED, PAUSED_INTERRUPTED } from '../messages.ts';
import type { LoopState } from '../schema/state.ts';
import { event, pause, type Transition } from './build.ts';

type Live = Exclude<LoopState, { status: 'ended' }>;

/** The hook was told to go (Esc, the client quits), or the client ended while the loop was live. */
export function interrupted(state: Live, happened: Extract<EngineEvent, { type: 'interrupted' }>): Transition {
  // Esc pauses the loop, and so does leaving; only with the client gone is it known which of the two it was.
  if (state.status === 'paused' && state.paused.reason === 'interrupted' && happened.by === 'client-exit') {
    const paused = { ...state.paused, message: CLIENT_ENDED };
    return { state: { ...state, paused }, effects: [{ type: 'allow', message: null }] };
  }
  // A pause that came before keeps its reason; consent that was not given is still not given.
  if (state.status === 'paused' || state.status === 'awaiting-consent') {
    return { state, effects: [{ type: 'allow', message: null }] };
  }
  const message = happened.by === 'signal' ? PAUSED_INTERRUPTED : CLIENT_ENDED;
  const next = { ...pause(state, happened.at, 'interrupted', message), turn: 'rest' as const };
  return {
    state: next,
    effects: [
      event(next, happened.at, 'loop.paused', { reason: 'interrupted', by: happened.by }),
      { type: 'allow', message },
    ],
  };
}
