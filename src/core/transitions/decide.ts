import { tripped } from '../breaker/breaker.ts';
import { type BudgetReading, readBudget } from '../budget.ts';
import type { Effect, Sign } from '../effects.ts';
import type { Policy } from '../schema/policy.ts';
import type { Failure, StateOf } from '../schema/state.ts';
import { budgetText, budgetWarningText, maxIterationsText, signalName, stoppedText, tripText } from '../texts.ts';
import { end, event, type Transition } from './common.ts';

type Running = StateOf<'running'>;

/** What follows a counted iteration that is not complete: its failure ends the loop, unless the user has already. */
export function decide(
  state: Running,
  at: string,
  policy: Policy,
  failure: Failure | null,
  goOn: (warned: Running) => Transition,
): Transition {
  if (failure && !state.stopRequested) return end(state, at, failure.as, failure.message);
  return withinLimits(state, at, policy, goOn);
}

/**
 * Goes on only while no limit holds; nothing is sent to the agent by any other way. The first limit that holds names
 * the end: the user's stop, max iterations, breaker, budget (and last, with the wait, idle).
 */
export function withinLimits(
  state: Running,
  at: string,
  policy: Policy,
  goOn: (warned: Running) => Transition,
): Transition {
  if (state.stopRequested) return end(state, at, 'stopped', stoppedText(state));
  if (state.iteration >= state.maxIterations) {
    const barren = policy.pace.tracksProgress && !state.progressed;
    const as = barren ? 'no-progress-exhaustion' : 'max-iterations';
    return end(state, at, as, maxIterationsText(state.iteration, as, barren ? state.unknownProgress : 0));
  }
  const trip = tripped(state.breaker, policy.breaker);
  if (trip) {
    const message = tripText(trip);
    const stopped = end(state, at, 'circuit-open', message);
    const sign = tripSign(signalName(trip.signal), trip.evidence);
    return { state: stopped.state, effects: [{ type: 'add-sign', sign }, ...stopped.effects] };
  }
  const readings = readBudget(state.usage, state.startedAt, at, policy.budget);
  const over = readings.find(({ used, limit }) => used >= limit);
  if (over) return end(state, at, 'budget-exhausted', budgetText(over.name, over.text));
  const [warned, warnings] = warn(state, at, readings, policy.budget.warnAt);
  const next = goOn(warned);
  return { state: next.state, effects: [...warnings, ...next.effects] };
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

function tripSign(signal: string, evidence: string): Sign {
  return {
    name: `Circuit breaker: ${signal}`,
    trigger: `Iterations repeat themselves (${signal}).`,
    instruction: 'Do it another way, or say plainly what blocks you.',
    addedAfter: evidence,
  };
}
