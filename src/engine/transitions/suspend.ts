import { render } from '../../text/message.ts';
import { isBefore } from '../../text/time.ts';
import type { EventOf } from '../events.ts';
import { CLIENT_ENDED, OVERRIDDEN_TEXT, PAUSED_INTERRUPTED } from '../messages.ts';
import type { Policy } from '../schema/contract.ts';
import type { LiveState, LoopState } from '../schema/state.ts';
import type { Transition } from './build.ts';
import {
  event,
  overtaken,
  pause,
  putInFlight,
  recordPause,
  release,
  releasePaused,
  running,
  tellPause,
} from './build.ts';
import { endBy, limitReached, pausedByWindow } from './check-limits.ts';

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

/** Handles a prompt in the session: the launcher's first one, the client's own notification, or the user's. */
export function userPrompt(state: LiveState, prompted: EventOf<'user-prompt'>): Transition {
  // The client announces a message when it is queued, under the id of the turn that is still running.
  if (prompted.promptId !== null && prompted.promptId === state.promptId) return { state, effects: [] };
  const heard: LiveState = { ...state, promptId: prompted.promptId };
  if (prompted.by !== 'user') return byClient(heard, prompted);
  if (heard.status === 'paused') return whilePaused(heard, prompted.at);
  if (heard.status === 'awaiting-consent') return turn(heard, 'user');
  switch (heard.turn) {
    case 'first':
      return turn(begun(heard, prompted.at), 'agent');
    case 'agent':
      // Its prompt had no Stop, and nothing was queued.
      return heard.status === 'waiting' ? turn(heard, 'user') : interruptedByUser(heard, prompted.at, 'notify');
    case 'user':
    case 'rest':
      return turn(heard, 'user');
    default:
      return heard.turn satisfies never;
  }
}

/** Begins the first iteration with its prompt: a client that a person starts may come long after the loop. */
function begun(state: LiveState, at: string): LiveState {
  const { lastDecision } = state;
  return lastDecision?.kind === 'started' ? { ...state, lastDecision: { ...lastDecision, at } } : state;
}

/** Handles a prompt by which the client continues itself: it is the loop's work, unless the user was being answered. */
function byClient(state: LiveState, { by, at }: EventOf<'user-prompt'>): Transition {
  if (by === 'continuation' && state.status === 'paused' && state.paused.reason === 'rate-limited')
    return resumed({ ...running(state), turn: 'agent' }, at);
  return turn(state, state.turn === 'user' || state.status === 'paused' ? 'user' : 'agent');
}

/** Handles a prompt during a pause. An expired rate limit needs no `resume`: the user is answered, and the loop continues. */
function whilePaused(state: Extract<LiveState, { status: 'paused' }>, at: string): Transition {
  const { reason, resumesAt } = state.paused;
  if (reason !== 'rate-limited' || resumesAt === null || isBefore(at, resumesAt)) {
    // The client discards the output of a Stop or StopFailure hook that is aborted or fails (measured).
    const { state: told, message } = tellPause(state);
    return { state: turn(told, 'user').state, effects: message === null ? [] : [{ type: 'notify', message }] };
  }
  return resumed({ ...running(state), turn: 'user' }, at);
}

function resumed(state: LoopState, at: string): Transition {
  return { state, effects: [event(state, at, 'loop.resumed', { why: 'the rate limit has passed' })] };
}

/** Pauses a loop whose user pressed Esc and wrote something else. */
export function interruptedByUser(state: LiveState, at: string, type: 'allow' | 'notify'): Transition {
  const { state: paused } = tellPause(pause(state, at, 'interrupted', PAUSED_INTERRUPTED));
  return recordPause({ ...paused, turn: 'user' }, type);
}

function turn(state: LiveState, whose: LoopState['turn']): Transition {
  return { state: state.turn === whose ? state : { ...state, turn: whose }, effects: [] };
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
  return { state: { ...state, lastDecision: lastDecision === null ? null : { ...lastDecision, at } }, effects: [] };
}

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
