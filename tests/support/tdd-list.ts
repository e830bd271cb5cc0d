import type { TddLogEntry, TddPhase, TddRecord } from '../../src/engine/schema/tdd.ts';
import { recordPhase } from '../../src/engine/tdd/phases.ts';

export const AT = '2026-03-12T10:00:00Z';

/** A list of so many scenarios, sc-001 and so on, agreed to, with nothing proved. */
export function aList(scenarios = 2, more: Partial<TddRecord> = {}): TddRecord {
  return {
    recordVersion: 1,
    listId: 'tdd-1',
    createdAt: AT,
    loopId: null,
    consented: true,
    scenarios: Array.from({ length: scenarios }, (_, at) => ({
      id: `sc-00${at + 1}`,
      description: `does the thing number ${at + 1}`,
      run: `node --test tests/${at + 1}.test.js`,
      timeoutSeconds: 60,
    })),
    scripts: {},
    environment: {},
    current: null,
    completed: [],
    log: [],
    broken: null,
    ...more,
  };
}

export function entry(scenarioId: string, phase: TddPhase, output = `${phase} of ${scenarioId}`): TddLogEntry {
  return { scenarioId, phase, output, timestamp: AT, bytes: output.length, exitCode: phase === 'red' ? 1 : 0 };
}

/** The list after these phases were proved, each written as `sc-001 red`. */
export function after(record: TddRecord, ...phases: readonly string[]): TddRecord {
  return phases.reduce((list, text) => {
    const [id = '', phase] = text.split(' ');
    return recordPhase(list, entry(id, phase as TddPhase));
  }, record);
}
