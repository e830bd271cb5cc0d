import type { EngineEvent } from '../events.ts';
import { OVERRIDDEN_TEXT, stoppedText } from '../messages.ts';
import type { Policy } from '../schema/policy.ts';
import type { LoopState } from '../schema/state.ts';
import { end, event, overtaken, pause, release, releasePaused, type Transition, tellPause } from './build.ts';
import { limitReached } from './check-limits.ts';
import { endBy } from './end-loop.ts';

type Live = Exclude<LoopState, { status: 'ended' }>;
type Of<T extends EngineEvent['type']> = Extract<EngineEvent, { type: T }>;

/** The turn is let go although the loop goes on: background work, or a message the user has queued. */
export function released(state: Live, happened: Of<'turn-released'>): Transition {
  // An answer to the user that waits for background work is still theirs.
  const next = release(state, null, happened.why === 'message' || state.turn === 'user' ? 'user' : 'rest');
  return {
    state: next.state,
    effects: [event(state, happened.at, 'turn.released', { why: happened.why }), ...next.effects],
  };
}

/**
 * The client ended a turn over our block: the prompt we sent was never seen, so what it carried goes with the next one,
 * and the user has to know why.
 */
export function overridden(state: Live, happened: Of<'block-overridden'>): Transition {
  return {
    state: { ...takenBack(state), turn: state.turn === 'user' ? 'user' : 'rest' },
    effects: [event(state, happened.at, 'block.overridden'), { type: 'notify', message: OVERRIDDEN_TEXT }],
  };
}

/** The iteration begins now that its prompt is ready, unless somebody's word came while it was made: that stands. */
export function promptMade(state: Live, { at, outcome }: Of<'prompt-made'>): Transition {
  if (outcome === 'given-up') return { state: takenBack(state), effects: [] };
  if (state.status !== 'running') return overtaken(takenBack(state));
  if (state.stopRequested) return end(state, at, 'stopped', stoppedText(state));
  const { lastDecision } = state;
  return { state: { ...state, lastDecision: lastDecision === null ? null : { ...lastDecision, at } }, effects: [] };
}

/**
 * A client that knows nothing gets its first prompt, which carries all that waits, as any other does: what was said to
 * nobody comes in the order in which it was said. A loop that was left has gone on spending its time: over a limit there
 * is no prompt.
 */
export function firstPrompt(state: Live, { at }: Of<'first-prompt'>, policy: Policy): Transition {
  const reached = state.status === 'running' ? limitReached(state, at, policy) : null;
  if (reached !== null) return endBy(state, at, policy, reached);
  return {
    state: {
      ...state,
      handedOver: { notices: state.notices, steering: state.steering },
      notices: { rejection: [], misplacedSignal: null, warnings: [] },
      steering: [],
      lastDecision: { at, kind: 'prompt', detail: 'first prompt' },
    },
    effects: [],
  };
}

/** What a prompt carried that the agent never answered goes with the next one. */
export function takenBack<S extends LoopState>(state: S): S {
  if (!state.handedOver) return state;
  const { notices, steering } = state.handedOver;
  return {
    ...state,
    handedOver: null,
    steering: [...steering, ...state.steering],
    notices: {
      rejection: [...notices.rejection, ...state.notices.rejection],
      misplacedSignal: state.notices.misplacedSignal ?? notices.misplacedSignal,
      warnings: [...notices.warnings, ...state.notices.warnings],
    },
  };
}

/** The loop cannot go on for now. Consent that was not given is still not given, so that `resume` cannot stand for it. */
export function suspended(state: Live, happened: Of<'suspended'>): Transition {
  if (state.status === 'paused') return releasePaused(state);
  if (state.status === 'awaiting-consent') return release(state, happened.message);
  const { state: paused } = tellPause(pause(state, happened.at, happened.reason, happened.message));
  const next: LoopState = { ...paused, turn: 'rest' };
  return {
    state: next,
    effects: [
      event(next, happened.at, 'loop.paused', { reason: happened.reason }),
      { type: 'allow', message: happened.message },
    ],
  };
}

export function cannotGoOn(state: Live, happened: Of<'task-missing' | 'agent-failed'>): Transition {
  return end(state, happened.at, 'error', happened.message);
}

/** Something that the user and the next prompt have to hear once. */
export function noticed(state: Live, happened: Of<'noticed'>): Transition {
  if (state.told.includes(happened.key)) return { state, effects: [] };
  const { warnings } = state.notices;
  return {
    state: {
      ...state,
      told: [...state.told, happened.key],
      notices: { ...state.notices, warnings: [...warnings, happened.warning] },
    },
    effects: [
      event(state, happened.at, 'notice', { message: happened.warning }),
      { type: 'notify', message: happened.warning },
    ],
  };
}

export function steeringDelivered(state: Live, happened: Of<'steering-delivered'>): Transition {
  const steering = state.steering.filter(({ id }) => !happened.ids.includes(id));
  if (steering.length === state.steering.length) return { state, effects: [] };
  const next: LoopState = { ...state, steering };
  return { state: next, effects: [event(next, happened.at, 'steering.delivered', { ids: happened.ids })] };
}

/** Background work that outlasted every patience, such as a dev server: it is not waited for again. */
export function waitedOut(state: Live, happened: Of<'waited-out'>): Transition {
  const fresh = happened.taskIds.filter((id) => !state.waitedOut.includes(id));
  if (fresh.length === 0) return { state, effects: [] };
  const next: LoopState = { ...state, waitedOut: [...state.waitedOut, ...fresh] };
  return { state: next, effects: [event(next, happened.at, 'background.waited-out', { tasks: fresh })] };
}
