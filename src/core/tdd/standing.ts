import type { TddLogEntry, TddRecord, TddScenario, TddStanding } from '../schema/tdd-state.ts';

/** How far a scenario is: the last phase that was proved of it. */
export function standingOf(record: Pick<TddRecord, 'completed' | 'log'>, id: string): TddStanding {
  const last = record.log.findLast(({ scenarioId }) => scenarioId === id)?.phase;
  // One that was taken over from another list may have no entry in the log.
  const complete = isComplete(record, id);
  return complete && last !== 'refactored' ? 'green' : (last ?? 'pending');
}

export function isComplete({ completed }: Pick<TddRecord, 'completed'>, id: string): boolean {
  return completed.some((scenario) => scenario.id === id);
}

/** The scenarios that nobody has proved yet, in their order. */
export function remaining(record: Pick<TddRecord, 'scenarios' | 'completed'>): TddScenario[] {
  return record.scenarios.filter(({ id }) => !isComplete(record, id));
}

/** Every scenario is proved, and none was broken since by refactoring. */
export function allComplete(record: TddRecord): boolean {
  return record.broken === null && remaining(record).length === 0;
}

/** The scenario that is being worked on: the current one, or the first that remains; null when none does. */
export function scenarioAtWork(record: TddRecord): TddScenario | null {
  return record.scenarios.find(({ id }) => id === record.current) ?? remaining(record)[0] ?? null;
}

/** What the last failing run of a scenario printed; null before it. */
export function redEvidence({ log }: Pick<TddRecord, 'log'>, id: string): TddLogEntry | null {
  return log.findLast(({ scenarioId, phase }) => scenarioId === id && phase === 'red') ?? null;
}
