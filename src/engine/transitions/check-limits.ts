import type { Effect } from '../effects.ts';
import { budgetWarningText, PAUSED_BY_USER, windowText } from '../messages.ts';
import { tripped } from '../policy/breaker.ts';
import { type BudgetReading, isCostUnknown, reachedWindow, readBudget } from '../policy/budget.ts';
import type { Policy } from '../schema/policy.ts';
import type { Failure, StateOf } from '../schema/state.ts';
import { event, pause, type Transition, tellPause } from './build.ts';
import { endBy, type Reached } from './end-loop.ts';

type Running = StateOf<'running'>;

/** What follows a counted iteration that is not complete: its failure ends the loop, unless the user has already. */
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
  const readings = readBudget(state.usage, state.startedAt, at, policy.budget);
  const reached = firstReached(state, policy, readings);
  if (reached !== null) return endBy(state, at, policy, reached);
  if (state.pauseRequested) return pausedByUser(state, at);
  const paused = pausedByWindow(state, at, policy);
  if (paused !== null) return paused;
  const [warned, warnings] = warn(state, at, readings, policy.budget.warnAt);
  const next = goOn(warned);
  return { state: next.state, effects: [...warnings, ...next.effects] };
}

/** Pauses a loop that has used its share of the account's limits; null if it may go on. */
export function pausedByWindow(state: Running, at: string, { budget }: Policy): Transition | null {
  const window = reachedWindow(state.limits, budget, at);
  if (window === null) return null;
  const next = pause(state, at, 'rate-limited', windowText(window), window.resetsAt);
  const { name, used, resetsAt } = window;
  return {
    state: { ...next, turn: 'rest' },
    effects: [
      event(next, at, 'loop.paused', { reason: 'rate-limited', window: name, used, resetsAt }),
      { type: 'allow', message: next.paused.message },
    ],
  };
}

function pausedByUser(state: Running, at: string): Transition {
  const { state: paused, message } = tellPause(pause(state, at, 'operator', PAUSED_BY_USER));
  return { state: { ...paused, pauseRequested: false, turn: 'rest' }, effects: [{ type: 'allow', message }] };
}

export function limitReached(state: Running, at: string, policy: Policy): Reached | null {
  return firstReached(state, policy, readBudget(state.usage, state.startedAt, at, policy.budget));
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
