import type { ChecklistCount } from '../../text/markdown/lists.ts';
import type { Message } from '../../text/message.ts';
import type { TddLogEntry, TddPhase, TddRecord, TddScenario, TddStanding } from '../schema/tdd.ts';
import { TDD_TEXTS } from './messages.ts';

/** Returns the last proved phase of a scenario. */
export function standingOf(record: Pick<TddRecord, 'completed' | 'log'>, id: string): TddStanding {
  const last = record.log.findLast(({ scenarioId }) => scenarioId === id)?.phase;
  // A scenario adopted from another list may have no log entry.
  const complete = isComplete(record, id);
  return complete && last !== 'refactored' ? 'green' : (last ?? 'pending');
}

export function isComplete({ completed }: Pick<TddRecord, 'completed'>, id: string): boolean {
  return completed.some((scenario) => scenario.id === id);
}

export function remaining(record: Pick<TddRecord, 'scenarios' | 'completed'>): TddScenario[] {
  return record.scenarios.filter(({ id }) => !isComplete(record, id));
}

/** Returns the progress of a list, in the form that every view of a loop or list shows. */
export function scenarioCount({ completed, scenarios }: Pick<TddRecord, 'scenarios' | 'completed'>): ChecklistCount {
  return { done: completed.length, total: scenarios.length };
}

export function allComplete(record: TddRecord): boolean {
  return record.broken === null && remaining(record).length === 0;
}

export function scenarioAtWork(record: TddRecord): TddScenario | null {
  return record.scenarios.find(({ id }) => id === record.current) ?? remaining(record)[0] ?? null;
}

/** Returns the log entry of a scenario's last failing run; null before it. */
export function redEvidence({ log }: Pick<TddRecord, 'log'>, id: string): TddLogEntry | null {
  return log.findLast(({ scenarioId, phase }) => scenarioId === id && phase === 'red') ?? null;
}

/** Returns the record after a proved phase: the log grows by this entry, and green completes the scenario. */
export function recordPhase(record: TddRecord, entry: TddLogEntry): TddRecord {
  const { scenarioId, phase } = entry;
  const next: TddRecord = {
    ...record,
    current: scenarioId,
    log: [...record.log, entry],
    broken: record.broken?.scenarioId === scenarioId ? null : record.broken,
  };
  if (phase !== 'green' || isComplete(record, scenarioId)) return next;
  const completed = {
    id: scenarioId,
    evidenceCommand: record.scenarios.find(({ id }) => id === scenarioId)?.run ?? '',
    redEvidence: redEvidence(record, scenarioId)?.output ?? '',
    greenEvidence: entry.output,
    passedAt: entry.timestamp,
  };
  return { ...next, completed: [...record.completed, completed] };
}

/** Returns the record after a failed run of a green scenario, which must be fixed before anything else. */
export function recordBroken(record: TddRecord, scenarioId: string, output: string): TddRecord {
  return { ...record, current: scenarioId, broken: { scenarioId, output } };
}

export type MayRun =
  | { readonly kind: 'run'; readonly scenario: TddScenario }
  /** The scenario was already proved: nothing runs, and the earlier proof is the answer. */
  | { readonly kind: 'done'; readonly scenario: TddScenario }
  | { readonly kind: 'refused'; readonly why: Message | string };

/**
 * Returns whether a phase may run: green after red, refactored after green. `id`: null for the current scenario; `again`: red
 * again, even for a complete scenario whose test has changed.
 */
export function mayRun(
  record: TddRecord,
  phase: TddPhase,
  id: string | null,
  again: boolean,
  hasOtherTest = false,
): MayRun {
  const refused = (why: Message | string): MayRun => ({ kind: 'refused', why });
  if (!record.consented) return refused(TDD_TEXTS.noConsent);
  // A green scenario makes room for the next one.
  const atWork = phase === 'red' && record.broken === null ? nextScenario(record).scenario : scenarioAtWork(record);
  const scenario = id === null ? atWork : (record.scenarios.find((one) => one.id === id) ?? null);
  if (scenario === null) return refused(id === null ? TDD_TEXTS.nothingLeft : TDD_TEXTS.unknown(id));
  const standing = standingOf(record, scenario.id);
  const broken = record.broken?.scenarioId === scenario.id;
  if (standing === phase && !broken && !(again && phase === 'red')) return { kind: 'done', scenario };
  if (again && phase === 'red' && hasOtherTest && isComplete(record, scenario.id) && (broken || record.broken === null))
    return { kind: 'run', scenario };
  if (scenario.id !== atWork?.id) {
    const complete = isComplete(record, scenario.id);
    return refused(complete ? TDD_TEXTS.complete(scenario.id) : TDD_TEXTS.notNow(scenario.id, atWork?.id ?? null));
  }
  const why = outOfOrder(phase, standing, scenario.id);
  return why === null ? { kind: 'run', scenario } : refused(why);
}

function outOfOrder(phase: TddPhase, standing: TddStanding, id: string): Message | null {
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

/** Moves to the first remaining scenario, unless the current one is incomplete or broken by refactoring. */
export function nextScenario(record: TddRecord) {
  const current = record.scenarios.find(({ id }) => id === record.current) ?? null;
  const atWork = current !== null && (record.broken !== null || !isComplete(record, current.id));
  const scenario = atWork ? current : (remaining(record)[0] ?? null);
  const id = scenario?.id ?? null;
  return { record: id === record.current ? record : { ...record, current: id }, scenario };
}
