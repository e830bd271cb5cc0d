import { after } from '../clock.ts';
import { anotherIdle, clockSetBack, idleElapsed, idleWait } from '../idle.ts';
import type { IdlePolicy, Policy } from '../schema/policy.ts';
import type { Failure, LoopState, StateOf } from '../schema/state.ts';
import type { Signals } from '../signals.ts';
import { failedText, idleLimitText, PAUSED_INTERRUPTED, struggleText, timedOutText, timeIsUpText } from '../texts.ts';
import { counted } from './checklist.ts';
import { common, end, event, pause, prompt, running, type Transition, tellPause } from './common.ts';
import { type Account, conclude, type Ended, type Live, noted, type Running, statesOf } from './conclude.ts';
import { decide, type EndBy } from './decide.ts';
import { endBy } from './ends.ts';

/**
 * What follows from few turns. `iterationEnded` is given it, so that the file which decides the Stop that comes again
 * and again need not carry it.
 */
export interface Seldom {
  /** The agent has nothing to do. */
  readonly idle: (state: Live, ended: Ended, policy: Policy, idle: IdlePolicy, signals: Signals) => Transition;
  /** The policy's delay comes before the next prompt. */
  readonly pace: (state: Running, at: string, policy: Policy) => Transition;
  /** Completion was claimed. `failure` is what the loop ends with where the claim does not hold. */
  readonly verify: (state: Running, at: string, failure: Failure | null) => Transition;
  /**
   * Our prompt was the last word and the turn that ended now answers a person's own command (`!ls`): they had pressed
   * Esc. The client announces such a command to no hook, so it shows only here.
   */
  readonly interrupted: (state: Live, at: string) => Transition;
  /** The loop is over. */
  readonly endBy: EndBy;
  /** Asked of a turn that failed or struggled, and where progress is tracked. `state` has the turn counted. */
  readonly account: (state: Running, ended: Ended, policy: Policy) => Account;
}

export const SELDOM: Seldom = { idle: idleIteration, pace: nextIteration, verify, interrupted, endBy, account };

/** So many failed commands in one iteration mean that the approach is wrong, not the typing. */
export const STRUGGLE = 3;

/** The task goes back, at once or after the policy's delay. */
export function nextIteration(state: Running, at: string, { pace }: Policy): Transition {
  if (pace.delayMs === 0) return prompt(state, at, 'next iteration');
  return waitUntil(state, at, { delayMs: pace.delayMs, last: false, seen: null, why: 'pace' });
}

function idleIteration(state: Live, ended: Ended, policy: Policy, idle: IdlePolicy, signals: Signals): Transition {
  const { at } = ended;
  const counted: Running = {
    ...running(state),
    idleIterations: state.idleIterations + 1,
    idle: anotherIdle(clockSetBack(state.idle, state.lastDecision?.at ?? state.lastRunAt, at), at),
  };
  const next = noted(counted, ended, policy, signals, account(counted, ended, policy));
  const verdict = decide(next, at, policy, null, endBy, (warned) => waitIdle(warned, at, idle, ended.seen));
  const named = event(next, at, 'iteration.idle', {
    consecutiveIdle: next.idle.consecutive,
    delayMs: verdict.state.status === 'waiting' ? verdict.state.waiting.delayMs : 0,
    idleElapsedMs: idleElapsed(next.idle, at),
    ...statesOf(signals),
  });
  return conclude(state, next, ended, signals, 'idle', named, verdict);
}

function waitIdle(state: Running, at: string, idle: IdlePolicy, seen: string | null): Transition {
  const wait = idleWait(state.idle, idle, at);
  if (wait === null) return end(state, at, 'idle-limit', idleLimitText(idleElapsed(state.idle, at), idle.maxMs));
  return waitUntil(state, at, { ...wait, seen });
}

function waitUntil(
  state: Running,
  at: string,
  wait: Omit<StateOf<'waiting'>['waiting'], 'since' | 'until' | 'woken'>,
): Transition {
  const until = after(at, wait.delayMs);
  return {
    state: {
      ...common(state),
      status: 'waiting',
      waiting: { since: at, until, woken: false, ...wait },
      lastDecision: { at, kind: 'wait', detail: wait.why ?? 'idle' },
    },
    effects: [{ type: 'wait', until }],
  };
}

function verify(state: Running, at: string, failure: Failure | null): Transition {
  return {
    state: {
      ...common(state),
      status: 'verifying',
      verifying: { since: at, ...(failure && { failure }) },
      lastDecision: { at, kind: 'verify', detail: 'completion claimed' },
    },
    effects: [event(state, at, 'completion.claimed'), { type: 'verify' }],
  };
}

function interrupted(state: Live, at: string): Transition {
  const { state: paused, message } = tellPause(pause(state, at, 'interrupted', PAUSED_INTERRUPTED));
  const next: LoopState = { ...paused, turn: 'user' };
  return {
    state: next,
    effects: [event(next, at, 'loop.paused', { reason: 'interrupted' }), { type: 'allow', message }],
  };
}

function account(state: Running, ended: Ended, policy: Policy): Account {
  return {
    warnings: warnings(ended, policy),
    failure: failure(ended, policy, state.iteration),
    progress: policy.pace.tracksProgress ? progress(state, ended) : {},
  };
}

function warnings(ended: Ended, { pace }: Policy): string[] {
  const struggled = ended.failedShellCalls >= STRUGGLE ? [struggleText(ended.failedShellCalls)] : [];
  return ended.timedOut ? [timeIsUpText(pace.iterationTimeoutMs), ...struggled] : struggled;
}

function failure(ended: Ended, { pace }: Policy, iteration: number): Failure | null {
  if (!pace.stopOnError) return null;
  if (ended.timedOut) return { as: 'timeout', message: timedOutText(iteration, pace.iterationTimeoutMs) };
  return ended.error === null ? null : { as: 'error', message: failedText(iteration, ended.error) };
}

function progress(state: Running, ended: Ended): Account['progress'] {
  const { progressed, unknownProgress, idle, checklist, iteration } = state;
  const unknown = ended.progress === 'unknown' && idle.since === null;
  return {
    progressed: progressed || ended.progress === 'yes',
    unknownProgress: (unknownProgress ?? 0) + (unknown ? 1 : 0),
    ...(ended.checklist && { checklist: counted(ended.checklist, checklist) }),
    ...(ended.reflected && { lastReflection: iteration }),
  };
}
