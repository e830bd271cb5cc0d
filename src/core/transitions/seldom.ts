import { after } from '../clock.ts';
import type { EngineEvent } from '../events.ts';
import { idleElapsed, idleWait } from '../idle.ts';
import type { IdlePolicy, Policy } from '../schema/policy.ts';
import type { CommonState, Failure, LoopState, StateOf } from '../schema/state.ts';
import { failedText, idleLimitText, PAUSED_INTERRUPTED, struggleText, timedOutText, timeIsUpText } from '../texts.ts';
import { common, end, event, pause, prompt, type Transition, tellPause } from './common.ts';

type Live = Exclude<LoopState, { status: 'ended' }>;
type Running = StateOf<'running'>;
type Ended = Extract<EngineEvent, { type: 'iteration-ended' }>;

/**
 * What follows from few iterations. `iterationEnded` is given it, so that the file which decides the Stop that comes
 * again and again need not carry it.
 */
export interface Seldom {
  /** What comes before the next prompt: the wait of an idle agent, or the policy's delay. */
  readonly wait: (
    state: Running,
    at: string,
    policy: Policy,
    idle: IdlePolicy | null,
    seen: string | null,
  ) => Transition;
  /** Completion was claimed. `failure` is what the loop ends with where the claim does not hold. */
  readonly verify: (state: Running, at: string, failure: Failure | null) => Transition;
  /**
   * Our prompt was the last word and the turn that ended now answers a person's own command (`!ls`): they had pressed
   * Esc. The client announces such a command to no hook, so it shows only here.
   */
  readonly interrupted: (state: Live, at: string) => Transition;
  /** What a turn means beside its count; asked where that can be anything but UNEVENTFUL. `state` has it counted. */
  readonly account: (state: Running, ended: Ended, policy: Policy) => Account;
}

export interface Account {
  /** For the next prompt. */
  readonly warnings: readonly string[];
  /** How the loop ends by this turn, or null where it goes on. */
  readonly failure: Failure | null;
  readonly progress: Pick<CommonState, 'progressed' | 'unknownProgress'>;
}

export const UNEVENTFUL: Account = { warnings: [], failure: null, progress: {} };

export const SELDOM: Seldom = {
  wait: (state, at, policy, idle, seen) =>
    idle === null ? nextIteration(state, at, policy) : waitIdle(state, at, idle, seen),
  verify,
  interrupted,
  account: (state, ended, policy) => ({
    warnings: warnings(ended, policy),
    failure: failure(ended, policy, state.iteration),
    progress: policy.pace.tracksProgress ? progress(state, ended) : {},
  }),
};

/** So many failed commands in one iteration mean that the approach is wrong, not the typing. */
export const STRUGGLE = 3;

/** The task goes back, at once or after the policy's delay. */
export function nextIteration(state: Running, at: string, { pace }: Policy): Transition {
  if (pace.delayMs === 0) return prompt(state, at, 'next iteration');
  return waitUntil(state, at, { delayMs: pace.delayMs, last: false, seen: null, why: 'pace' });
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

function warnings(ended: Ended, { pace }: Policy): string[] {
  const struggled = ended.failedShellCalls >= STRUGGLE ? [struggleText(ended.failedShellCalls)] : [];
  return ended.timedOut ? [timeIsUpText(pace.iterationTimeoutMs), ...struggled] : struggled;
}

function failure(ended: Ended, { pace }: Policy, iteration: number): Failure | null {
  if (!pace.stopOnError) return null;
  if (ended.timedOut) return { as: 'timeout', message: timedOutText(iteration, pace.iterationTimeoutMs) };
  return ended.error === null ? null : { as: 'error', message: failedText(iteration, ended.error) };
}

function progress({ progressed, unknownProgress, idle }: Running, ended: Ended): Account['progress'] {
  const unknown = ended.progress === 'unknown' && idle.since === null;
  return {
    progressed: progressed || ended.progress === 'yes',
    unknownProgress: (unknownProgress ?? 0) + (unknown ? 1 : 0),
  };
}
