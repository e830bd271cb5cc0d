import type { TddLogEntry, TddRecord } from '../schema/tdd-state.ts';
import { isComplete, redEvidence } from './standing.ts';

/** The record after a phase was proved: the log is longer by this entry, and with green its scenario is complete. */
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

/** The record after a run that failed once the scenario was green: it is taken up again before anything else. */
export function recordBroken(record: TddRecord, scenarioId: string, output: string): TddRecord {
  return { ...record, current: scenarioId, broken: { scenarioId, output } };
}
