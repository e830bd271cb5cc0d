import { render } from '../../text/message.ts';
import type { EventOf } from '../events.ts';
import { CLIENT_ENDED, PAUSED_INTERRUPTED } from '../messages.ts';
import type { LiveState, LoopState } from '../schema/state.ts';
import { event, pause, recordPause, release, releasePaused, type Transition, tellPause } from './build.ts';
import { requeueInFlight } from './delivery.ts';

/** Pauses a live loop whose hook was aborted (Esc, the client quits) or whose client has exited. */
export function interrupted(state: LiveState, happened: EventOf<'interrupted'>): Transition {
  // Esc and quitting both pause the loop; only the client's exit shows which of the two it was.
  if (state.status === 'paused' && state.paused.reason === 'interrupted' && happened.by === 'client-exit') {
    const paused = { ...state.paused, message: render(CLIENT_ENDED, state) };
    return { state: { ...state, paused }, effects: [{ type: 'allow', message: null }] };
  }
  // An earlier pause keeps its reason, and missing consent stays missing.
  if (state.status === 'paused' || state.status === 'awaiting-consent')
    return { state, effects: [{ type: 'allow', message: null }] };
  const message = happened.by === 'signal' ? PAUSED_INTERRUPTED : CLIENT_ENDED;
  const next = pause(state, happened.at, 'interrupted', message);
  return recordPause({ ...next, turn: 'rest' }, 'allow', { by: happened.by });
}

/** Pauses a loop that cannot continue now. A loop that awaits consent keeps waiting: `resume` cannot replace consent. */
export function suspended(state: LiveState, happened: EventOf<'suspended'>): Transition {
  if (state.status === 'paused') return releasePaused(state);
  if (state.status === 'awaiting-consent') return release(state, render(happened.message, state));
  const { state: paused } = tellPause(pause(requeueInFlight(state), happened.at, happened.reason, happened.message));
  return recordPause({ ...paused, turn: 'rest' }, 'allow');
}

export function noticed(state: LiveState, happened: EventOf<'noticed'>): Transition {
  if (state.announced.includes(happened.key)) return { state, effects: [] };
  const { warnings } = state.notices;
  const warning = render(happened.warning, state);
  return {
    state: {
      ...state,
      announced: [...state.announced, happened.key],
      notices: { ...state.notices, warnings: [...warnings, warning] },
    },
    effects: [event(state, happened.at, 'notice', { message: warning }), { type: 'notify', message: warning }],
  };
}

/** Records background work that outlasted its wait, such as a dev server, so that no Stop waits for it again. */
export function waitedOut(state: LiveState, happened: EventOf<'waited-out'>): Transition {
  const fresh = happened.taskIds.filter((id) => !state.waitedOut.includes(id));
  if (fresh.length === 0) return { state, effects: [] };
  const next: LoopState = { ...state, waitedOut: [...state.waitedOut, ...fresh] };
  return { state: next, effects: [event(next, happened.at, 'background.waited-out', { tasks: fresh })] };
}
