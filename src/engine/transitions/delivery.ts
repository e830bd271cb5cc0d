import { render } from '../../text/message.ts';
import type { EventOf } from '../events.ts';
import { OVERRIDDEN_TEXT } from '../messages.ts';
import { decidedAt } from '../policy/loop-time.ts';
import type { Policy } from '../schema/contract.ts';
import type { LiveState, LoopState } from '../schema/state.ts';
import type { Transition } from './build.ts';
import { event, overtaken, pause, putInFlight, recordPause, release, releasePaused, tellPause } from './build.ts';
import { endBy, limitReached, pausedByWindow } from './check-limits.ts';

/** Begins a turn in a fresh context with everything undelivered; a loop that reached a limit meanwhile ends instead. */
export function firstPrompt(state: LiveState, { at }: EventOf<'first-prompt'>, policy: Policy): Transition {
  const reached = state.status === 'running' ? limitReached(state, at, policy) : null;
  if (reached !== null) return endBy(state, at, policy, reached);
  return {
    state: {
      ...state,
      // After a pause the turn was at rest; now an agent is about to work.
      ...(state.status === 'running' && state.turn === 'rest' && { turn: 'first' as const }),
      ...putInFlight(state),
      lastDecision: { at, kind: 'prompt', detail: 'first prompt' },
    },
    effects: [],
  };
}

/** Begins an attempt at the iteration, unless the loop was stopped, paused or replaced, or has reached a limit. */
export function promptMade(state: LiveState, { at, outcome }: EventOf<'prompt-made'>, policy: Policy): Transition {
  if (outcome === 'given-up') return { state: requeueInFlight(state), effects: [] };
  if (state.status !== 'running') return overtaken(requeueInFlight(state));
  // A retry of a failed run is another attempt at the same iteration.
  const reached = limitReached(state, at, policy);
  if (reached !== null) return endBy(state, at, policy, reached);
  const paused = pausedByWindow(requeueInFlight(state), at, policy);
  if (paused !== null) return paused;
  const { lastDecision } = state;
  return { state: { ...state, lastDecision: lastDecision === null ? null : decidedAt(lastDecision, at) }, effects: [] };
}

/** Lets the turn end while the loop stays live, for background work or a queued message of the user. */
export function released(state: LiveState, happened: EventOf<'turn-released'>): Transition {
  // An answer to the user that waits for background work still belongs to the user.
  const next = release(state, null, happened.why === 'message' || state.turn === 'user' ? 'user' : 'rest');
  return {
    state: next.state,
    effects: [event(state, happened.at, 'turn.released', { why: happened.why }), ...next.effects],
  };
}

/** Requeues the content of a prompt after the client ended the turn despite the block, and notifies the user. */
export function overridden(state: LiveState, happened: EventOf<'block-overridden'>): Transition {
  return {
    state: { ...requeueInFlight(state), turn: state.turn === 'user' ? 'user' : 'rest' },
    effects: [event(state, happened.at, 'block.overridden'), { type: 'notify', message: OVERRIDDEN_TEXT }],
  };
}

/** Requeues the content of a prompt that the agent never answered. */
export function requeueInFlight<S extends LoopState>(state: S): S {
  if (!state.inFlight) return state;
  const { notices, steering } = state.inFlight;
  return {
    ...state,
    inFlight: null,
    steering: [...steering, ...state.steering],
    notices: {
      rejection: [...notices.rejection, ...state.notices.rejection],
      misplacedSignal: state.notices.misplacedSignal ?? notices.misplacedSignal,
      warnings: [...notices.warnings, ...state.notices.warnings],
    },
  };
}

export function steeringDelivered(state: LiveState, happened: EventOf<'steering-delivered'>): Transition {
  const steering = state.steering.filter(({ id }) => !happened.ids.includes(id));
  if (steering.length === state.steering.length) return { state, effects: [] };
  const next: LoopState = { ...state, steering };
  return { state: next, effects: [event(next, happened.at, 'steering.delivered', { ids: happened.ids })] };
}

/** Keeps a warning for the next prompt and shows it to the user, once for each key. */
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

/** Pauses a loop that cannot continue now. A loop that awaits consent keeps waiting: `resume` cannot replace consent. */
export function suspended(state: LiveState, happened: EventOf<'suspended'>): Transition {
  if (state.status === 'paused') return releasePaused(state);
  if (state.status === 'awaiting-consent') return release(state, render(happened.message, state));
  const { state: paused } = tellPause(pause(requeueInFlight(state), happened.at, happened.reason, happened.message));
  return recordPause({ ...paused, turn: 'rest' }, 'allow');
}
