import { after, elapsed, isBefore } from '../../text/time.ts';
import type { EventOf } from '../events.ts';
import { idleLimitText } from '../messages.ts';
import { idleElapsed, idleWait } from '../policy/idle.ts';
import { timeReading } from '../policy/loop-time.ts';
import type { IdlePolicy, Policy } from '../schema/contract.ts';
import type { LoopState, StateOf } from '../schema/state.ts';
import { end, event, overtaken, prompt, release, running, type Transition } from './build.ts';
import { withinLimits } from './check-limits.ts';

type Waiting = StateOf<'waiting'>;

export function timePassed(before: LoopState, passed: EventOf<'time-passed'>, policy: Policy): Transition {
  if (before.status !== 'waiting') return overtaken(before);
  const { at } = passed;
  const state = waitFrom(at, before);
  if (state.waiting.woken) return goOn(state, at, policy, 'woken');
  switch (passed.cause) {
    case 'message':
      return release(state, null, 'user');
    case 'notification':
      return release(state, null);
    case 'deadline':
      return goOn(state, at, policy, 'the hook has to answer before its timeout');
    case 'changed':
      return isPace(state) ? elapsedNow(state, at, policy) : goOn(state, at, policy, 'something changed');
    case 'elapsed':
      return elapsedNow(state, at, policy);
    case 'quiet':
      return isPace(state) ? elapsedNow(state, at, policy) : quiet(state, at, policy, passed.seen);
    default:
      return passed.cause satisfies never;
  }
}

/** Returns the wait on the current clock: it restarts if the clock was set back to before it. */
function waitFrom(at: string, state: Waiting): Waiting {
  const { until, delayMs } = state.waiting;
  if (!isBefore(at, after(until, -delayMs))) return state;
  return { ...state, waiting: { ...state.waiting, since: at, until: after(at, delayMs) } };
}

function goOn(state: Waiting, at: string, policy: Policy, detail: string): Transition {
  const next = withinLimits(running(state), at, policy, (warned) => prompt(warned, at, detail));
  const ended = event(state, at, `${state.waiting.why ?? 'idle'}.ended`, { why: detail });
  return { state: next.state, effects: [ended, ...next.effects] };
}

/** Returns whether this is a delay between two working iterations, which only time ends. */
function isPace({ waiting }: Waiting): boolean {
  return waiting.why === 'pace';
}

function elapsedNow(state: Waiting, at: string, policy: Policy): Transition {
  if (timeReading(state, policy.budget, at) !== null) return goOn(state, at, policy, 'max_time has passed');
  if (isBefore(at, state.waiting.until)) return { state, effects: [{ type: 'wait', until: state.waiting.until }] };
  if (isPace(state)) return goOn(state, at, policy, 'the delay is over');
  if (policy.idle === null) return goOn(state, at, policy, 'idle is off');
  if (policy.idle.wake === 'change') return { state, effects: [{ type: 'look' }] };
  if (state.waiting.last) return stop(state, at, policy.idle);
  return goOn(state, at, policy, 'the wait is over');
}

/** Continues waiting, because nothing changed, without calling the model until `max_quiet` has passed. */
function quiet(state: Waiting, at: string, policy: Policy, seen: string | null): Transition {
  const { idle } = policy;
  if (idle === null) return goOn(state, at, policy, 'idle is off');
  const wait = state.waiting.last ? null : idleWait(state.idle, idle, at);
  if (wait === null) return stop(state, at, idle);
  if (idle.maxQuietMs !== null && elapsed(state.idle.lastCallAt ?? state.waiting.since, at) >= idle.maxQuietMs)
    return goOn(state, at, policy, 'max_quiet has passed');
  const until = after(at, wait.delayMs);
  const waiting: Waiting['waiting'] = {
    ...state.waiting,
    until,
    delayMs: wait.delayMs,
    last: wait.last,
    // Changes are measured against what the agent saw when it reported idle.
    seen: state.waiting.seen ?? seen,
  };
  return { state: { ...state, waiting }, effects: [{ type: 'wait', until }] };
}

function stop(state: Waiting, at: string, policy: IdlePolicy): Transition {
  return end(state, at, 'idle-limit', idleLimitText(idleElapsed(state.idle, at), policy.maxMs));
}
