import type { TddPhase, TddRecord, TddScenario, TddStanding } from '../schema/tdd-state.ts';
import { isComplete, scenarioAtWork, standingOf } from './standing.ts';
import { TDD_TEXTS } from './texts.ts';

export type MayRun =
  | { readonly kind: 'run'; readonly scenario: TddScenario }
  /** It was done before: nothing runs, and what was proved then is the answer. */
  | { readonly kind: 'done'; readonly scenario: TddScenario }
  | { readonly kind: 'refused'; readonly why: string };

/**
 * Whether a phase of a scenario may run now: green after red, refactored after green, and nothing of a scenario that is
 * complete. `id` null is the one at work. A phase that stands already does not run again, so that a call which is made
 * twice counts once; `again` has red run once more, for a test that was sharpened.
 */
export function mayRun(record: TddRecord, phase: TddPhase, id: string | null, again: boolean): MayRun {
  const refused = (why: string): MayRun => ({ kind: 'refused', why });
  if (!record.consented) return refused(TDD_TEXTS.noConsent);
  const atWork = scenarioAtWork(record);
  const scenario = id === null ? atWork : (record.scenarios.find((one) => one.id === id) ?? null);
  if (scenario === null) return refused(id === null ? TDD_TEXTS.nothingLeft : TDD_TEXTS.unknown(id));
  const standing = standingOf(record, scenario.id);
  const broken = record.broken?.scenarioId === scenario.id;
  if (standing === phase && !broken && !(again && phase === 'red')) return { kind: 'done', scenario };
  if (scenario.id !== atWork?.id) {
    const complete = isComplete(record, scenario.id);
    return refused(complete ? TDD_TEXTS.complete(scenario.id) : TDD_TEXTS.notNow(scenario.id, atWork?.id ?? null));
  }
  const why = outOfOrder(phase, standing, scenario.id);
  return why === null ? { kind: 'run', scenario } : refused(why);
}

function outOfOrder(phase: TddPhase, standing: TddStanding, id: string): string | null {
  switch (phase) {
    case 'red':
      return standing === 'pending' || standing === 'red' ? null : TDD_TEXTS.complete(id);
    case 'green':
      if (standing === 'red') return null;
      return standing === 'pending' ? TDD_TEXTS.redFirst(id) : TDD_TEXTS.complete(id);
    case 'refactored':
      return standing === 'green' || standing === 'refactored' ? null : TDD_TEXTS.greenFirst(id);
    default:
      return phase satisfies never;
  }
}
