import type { TddRecord, TddScenario } from '../schema/tdd-state.ts';
import { isComplete, remaining } from './standing.ts';

export interface NextScenario {
  readonly record: TddRecord;
  /** What to work on now; null when every scenario is complete. */
  readonly scenario: TddScenario | null;
}

/**
 * Goes on to the first scenario that remains, unless the current one is still at work: not complete, or broken by
 * refactoring. One that is complete never comes again.
 */
export function nextScenario(record: TddRecord): NextScenario {
  const current = record.scenarios.find(({ id }) => id === record.current) ?? null;
  const atWork = current !== null && (record.broken !== null || !isComplete(record, current.id));
  const scenario = atWork ? current : (remaining(record)[0] ?? null);
  const id = scenario?.id ?? null;
  return { record: id === record.current ? record : { ...record, current: id }, scenario };
}
