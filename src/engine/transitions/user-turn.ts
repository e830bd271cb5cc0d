import { render } from '../../text/message.ts';
import { isBefore } from '../../text/time.ts';
import type { EventOf } from '../events.ts';
import { CLIENT_ENDED, PAUSED_INTERRUPTED } from '../messages.ts';
import { decidedAt } from '../policy/loop-time.ts';
import type { LiveState, LoopState } from '../schema/state.ts';
import { event, pause, recordPause, running, type Transition, tellPause } from './build.ts';

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

/** Begins the first iteration at its prompt: a person may start the client long after the loop. */
function begun(state: LiveState, at: string): LiveState {
  const { lastDecision } = state;
  return lastDecision?.kind === 'started' ? { ...state, lastDecision: decidedAt(lastDecision, at) } : state;
}

/** Handles a prompt by which the client continues itself: the loop's work, unless the user was being answered. */
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

function turn(state: LiveState, whose: LoopState['turn']): Transition {
  return { state: state.turn === whose ? state : { ...state, turn: whose }, effects: [] };
}

/** Pauses a live loop whose hook was aborted (Esc, the client quits) or whose client has exited. */
export function interrupted(state: LiveState, happened: EventOf<'interrupted'>): Transition {
  // Esc and quitting both pause the loop; only the client's exit shows which of the two it was.
  if (state.status === 'paused' && state.paused.reason === 'interrupted' && happened.by === 'client-exit') {
    const paused = { ...state.paused, message: render(CLIENT_ENDED, state), text: CLIENT_ENDED.text };
    const next = { ...state, paused };
    const exited = event(next, happened.at, 'loop.paused', { reason: 'interrupted', by: happened.by });
    // A runner's user leaves it by a key, whereas a session may have lost its terminal.
    const news = state.mode === 'hook' && state.paused.message !== next.paused.message ? [exited] : [];
    return { state: next, effects: [...news, { type: 'allow', message: null }] };
  }
  // An earlier pause keeps its reason, missing consent stays missing. Esc ends a turn that continued during a pause.
  if (state.status === 'paused' || state.status === 'awaiting-consent') {
    const isOver = state.mode === 'hook' && state.turn === 'agent' && happened.by === 'signal';
    const lastDecision = state.lastDecision && { ...state.lastDecision, at: happened.at };
    const next: LoopState = isOver ? { ...state, turn: 'rest', lastDecision } : state;
    return { state: next, effects: [{ type: 'allow', message: null }] };
  }
  const message = happened.by === 'signal' ? PAUSED_INTERRUPTED : CLIENT_ENDED;
  const next = pause(state, happened.at, 'interrupted', message);
  return recordPause({ ...next, turn: 'rest' }, 'allow', { by: happened.by });
}

/** Pauses a loop whose user pressed Esc and wrote something else. */
export function interruptedByUser(state: LiveState, at: string, type: 'allow' | 'notify'): Transition {
  const { state: paused } = tellPause(pause(state, at, 'interrupted', PAUSED_INTERRUPTED));
  return recordPause({ ...paused, turn: 'user' }, type);
}
