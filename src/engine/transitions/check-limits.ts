import type { Message } from '../../text/message.ts';
import { asSentence } from '../../text/quote.ts';
import { after, elapsed, isBefore } from '../../text/time.ts';
import type { BudgetReading, Effect, EventOf, Sign } from '../events.ts';
import {
  budgetText,
  budgetWarningText,
  idleLimitText,
  maxIterationsText,
  PAUSED_BY_USER,
  signalName,
  stoppedText,
  tripText,
  UNKNOWN_COST,
  windowText,
} from '../messages.ts';
import { type Trip, tripped } from '../policy/breaker.ts';
import { isCostUnknown, reachedWindow, readBudget } from '../policy/budget.ts';
import { idleElapsed, idleWait, timeReading, timeSpent } from '../policy/loop-time.ts';
import type { IdlePolicy, Policy } from '../schema/contract.ts';
import type { Failure, LoopState, StateOf } from '../schema/state.ts';
import type { Transition } from './build.ts';
import { end, event, headOf, overtaken, pause, prompt, recordPause, release, running, tellPause } from './build.ts';

type Running = StateOf<'running'>;

/** Decides after a counted iteration that is not complete: its failure ends the loop, unless the user already has. */
export function decide(
  state: Running,
  at: string,
  policy: Policy,
  failure: Failure | null,
  goOn: (warned: Running) => Transition,
): Transition {
  if (failure && !state.stopRequested) return endBy(state, at, policy, { by: 'failure', failure });
  return withinLimits(state, at, policy, goOn);
}

/** Continues only below every limit. The first one reached ends the loop: user's stop, iterations, breaker, budget. */
export function withinLimits(
  state: Running,
  at: string,
  policy: Policy,
  goOn: (warned: Running) => Transition,
): Transition {
  const readings = readBudget(state.usage, timeSpent(state, at), policy.budget);
  const reached = firstReached(state, policy, readings);
  if (reached !== null) return endBy(state, at, policy, reached);
  if (state.pauseRequested) return pausedByUser(state, at);
  const paused = pausedByWindow(state, at, policy);
  if (paused !== null) return paused;
  const [warned, warnings] = warn(state, at, readings, policy.budget.warnAt);
  const next = goOn(warned);
  return { state: next.state, effects: [...warnings, ...next.effects] };
}

/** Pauses a loop that has used its share of the account's limits; null if it may continue. */
export function pausedByWindow(state: Running, at: string, { budget }: Policy): Transition | null {
  const window = reachedWindow(state.limits, budget, at);
  if (window === null) return null;
  const next = pause(state, at, 'rate-limited', windowText(window), window.resetsAt);
  const { name, used, resetsAt } = window;
  return recordPause({ ...next, turn: 'rest' }, 'allow', { window: name, used, resetsAt });
}

function pausedByUser(state: Running, at: string): Transition {
  const { state: paused, message } = tellPause(pause(state, at, 'operator', PAUSED_BY_USER));
  return { state: { ...paused, pauseRequested: false, turn: 'rest' }, effects: [{ type: 'allow', message }] };
}

export function limitReached(state: Running, at: string, policy: Policy): Reached | null {
  return firstReached(state, policy, readBudget(state.usage, timeSpent(state, at), policy.budget));
}

function firstReached(
  state: Running,
  { breaker, budget: limits }: Policy,
  readings: readonly BudgetReading[],
): Reached | null {
  if (state.stopRequested) return { by: 'user' };
  if (state.iteration >= state.maxIterations) return { by: 'iterations' };
  const trip = tripped(state.breaker, breaker);
  if (trip) return { by: 'breaker', trip };
  const budget = readings.find(({ used, limit }) => used >= limit);
  if (budget) return { by: 'budget', budget };
  return isCostUnknown(state.usage, limits) ? { by: 'unknown-cost' } : null;
}

function warn(state: Running, at: string, readings: BudgetReading[], warnAt: number): [Running, Effect[]] {
  const fresh = readings.filter(
    ({ name, used, limit }) => used >= limit * warnAt && !state.warnedBudgets.includes(name),
  );
  if (fresh.length === 0) return [state, []];
  const texts = fresh.map(({ name, text }) => budgetWarningText(name, text));
  const warned: Running = {
    ...state,
    warnedBudgets: [...state.warnedBudgets, ...fresh.map(({ name }) => name)],
    notices: { ...state.notices, warnings: [...state.notices.warnings, ...texts] },
  };
  return [
    warned,
    fresh.flatMap(({ name, text }): Effect[] => [
      event(state, at, 'budget.warning', { budget: name, reading: text }),
      { type: 'notify', message: budgetWarningText(name, text) },
    ]),
  ];
}

type Reached =
  | { readonly by: 'failure'; readonly failure: Failure }
  | { readonly by: 'user' | 'iterations' | 'unknown-cost' }
  | { readonly by: 'breaker'; readonly trip: Trip }
  | { readonly by: 'budget'; readonly budget: BudgetReading };

export function endBy(state: LoopState, at: string, policy: Policy, reached: Reached): Transition {
  switch (reached.by) {
    case 'failure':
      return end(state, at, reached.failure.as, reached.failure.message, null, reached.failure.text);
    case 'user':
      return end(state, at, 'stopped', stoppedText(state));
    case 'iterations': {
      const barren = policy.pace.tracksProgress && !state.progressed;
      const as = barren ? 'no-progress-exhaustion' : 'max-iterations';
      const text = maxIterationsText(state.iteration, as, policy, barren ? state.unknownProgress : 0);
      return end(state, at, as, withHint(text, state));
    }
    case 'breaker': {
      const { trip } = reached;
      const stopped = end(state, at, 'circuit-open', withHint(tripText(trip), state));
      const sign = tripSign(signalName(trip.signal), trip.evidence);
      return { state: stopped.state, effects: [{ type: 'add-sign', sign } satisfies Effect, ...stopped.effects] };
    }
    case 'budget':
      return end(state, at, 'budget-exhausted', withHint(budgetText(reached.budget), state));
    case 'unknown-cost':
      return end(state, at, 'budget-exhausted', UNKNOWN_COST);
    default:
      return reached satisfies never;
  }
}

/** Adds why the last claim was refused or, if the last message was meant as a claim, how to claim. */
function withHint(message: Message, { notices }: LoopState): Message {
  const head = headOf(notices.rejection[0] ?? '');
  const refused = head === '' ? null : `The last claim was refused: ${head}`;
  const hint = refused ?? notices.misplacedSignal;
  return hint === null ? message : { ...message, text: `${message.text} ${asSentence(hint)}` };
}

function tripSign(signal: string, evidence: string): Sign {
  return {
    name: `Circuit breaker: ${signal}`,
    trigger: `Iterations repeat themselves (${signal}).`,
    instruction: 'Do it another way, or say plainly what blocks you.',
    addedAfter: evidence,
  };
}

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

/** Returns the wait on the current clock: it restarts if the clock was set back to before its beginning. */
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
