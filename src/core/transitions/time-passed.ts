import { after, elapsed, isBefore } from '../clock.ts';
import type { EngineEvent } from '../events.ts';
import { idleElapsed, idleWait } from '../idle.ts';
import type { IdlePolicy, Policy } from '../schema/policy.ts';
import type { LoopState, StateOf } from '../schema/state.ts';
import { idleLimitText } from '../texts.ts';
import { end, event, overtaken, prompt, release, type Transition } from './common.ts';

type Passed = Extract<EngineEvent, { type: 'time-passed' }>;
type Waiting = StateOf<'waiting'>;

/** A wait came to an end, by the clock or before it. */
export function timePassed(state: LoopState, passed: Passed, policy: Policy): Transition {
  if (state.status !== 'waiting') return overtaken(state);
  const { at } = passed;
  if (state.waiting.woken) return goOn(state, at, 'woken');
  switch (passed.cause) {
    case 'message':
      return release(state, null, 'user');
    case 'notification':
      return release(state, null);
    case 'deadline':
      return goOn(state, at, 'the hook has to answer before its timeout');
    case 'changed':
      return goOn(state, at, 'something changed');
    case 'elapsed':
      return elapsedNow(state, at, policy);
    case 'quiet':
      return policy.idle === null ? goOn(state, at, 'idle is off') : quiet(state, at, policy.idle, passed.seen);
    default:
      return passed.cause satisfies never;
  }
}

function goOn(state: Waiting, at: string, detail: string): Transition {
  const next = prompt(state, at, detail);
  return { state: next.state, effects: [event(state, at, 'idle.ended', { why: detail }), ...next.effects] };
}

function elapsedNow(state: Waiting, at: string, policy: Policy): Transition {
  if (isBefore(at, state.waiting.until)) {
    return { state, effects: [{ type: 'wait', until: state.waiting.until }] };
  }
  if (policy.idle === null) return goOn(state, at, 'idle is off');
  if (policy.idle.wake === 'change') return { state, effects: [{ type: 'look' }] };
  if (state.waiting.last) return stop(state, at, policy.idle);
  return goOn(state, at, 'the wait is over');
}

/** Wake on change: nothing changed, so the model is not called, unless it has been left alone for `max_quiet`. */
function quiet(state: Waiting, at: string, policy: IdlePolicy, seen: string | null): Transition {
  const wait = state.waiting.last ? null : idleWait(state.idle, policy, at);
  if (wait === null) return stop(state, at, policy);
  const { maxQuietMs } = policy;
  if (maxQuietMs !== null && elapsed(state.idle.lastCallAt ?? state.waiting.since, at) >= maxQuietMs) {
    return goOn(state, at, 'max_quiet has passed');
  }
  const until = after(at, wait.delayMs);
  return {
    state: { ...state, waiting: { ...state.waiting, until, delayMs: wait.delayMs, last: wait.last, seen } },
    effects: [{ type: 'wait', until }],
  };
}

function stop(state: Waiting, at: string, policy: IdlePolicy): Transition {
  return end(state, at, 'idle-limit', idleLimitText(idleElapsed(state.idle, at), policy.maxMs));
}
