import { TDD_VERSION } from '../schema/constants.ts';
import type { TddRecord, TddState } from '../schema/tdd.ts';
import { standingOf } from './phases.ts';

export function publishedState(record: TddRecord): TddState {
  return {
    schemaVersion: TDD_VERSION,
    scenarios: record.scenarios.map(({ id, description }) => ({ id, description, status: standingOf(record, id) })),
    completedScenarios: record.completed,
    currentScenario: record.current,
    evidenceLog: record.log,
  };
}

/** Relation between the file in the project and the record. */
type Agreement =
  | 'same'
  /** Earlier state of the same list: its writer died between the two files. */
  | 'behind'
  /** It claims something that was never proved, or lacks or changes a proof. */
  | 'tampered';

export function agreement(found: TddState, record: TddRecord): Agreement {
  const completed = record.completed.slice(0, found.completedScenarios.length);
  const log = record.log.slice(0, found.evidenceLog.length);
  const then = publishedState({ ...record, current: found.currentScenario, completed, log });
  if (!agrees(found, then)) return 'tampered';
  return agrees(found, publishedState(record)) ? 'same' : 'behind';
}

/** Returns the published state plus the foreign keys of `found`: at the top and in each scenario and entry. */
export function withOthersKeys(state: TddState, found: TddState | null): TddState {
  return found === null ? state : (merged(state, found) as TddState);
}

/** Returns whether `found`, of the same shape, has every key of `own` with the same value; its others belong to their owner. */
function agrees(found: unknown, own: unknown): boolean {
  if (Array.isArray(own))
    return Array.isArray(found) && found.length === own.length && own.every((item, at) => agrees(found[at], item));
  if (typeof own !== 'object' || own === null) return found === own;
  return Object.entries(own).every(([key, value]) => agrees((found as Record<string, unknown>)[key], value));
}

function merged(own: unknown, found: unknown): unknown {
  if (Array.isArray(own)) {
    const others = Array.isArray(found) ? found : [];
    return own.map((item, at) => merged(item, isSameItem(item, others[at]) ? others[at] : undefined));
  }
  if (typeof own !== 'object' || own === null) return own;
  if (typeof found !== 'object' || found === null || Array.isArray(found)) return own;
  const known = Object.entries(own).map(([key, value]) => [
    key,
    merged(value, (found as Record<string, unknown>)[key]),
  ]);
  return { ...found, ...Object.fromEntries(known) };
}

/** Returns whether two items correspond: scenarios by id, log entries by scenario and phase. */
function isSameItem(own: unknown, found: unknown): boolean {
  if (typeof own !== 'object' || own === null || typeof found !== 'object' || found === null) return false;
  return ['id', 'scenarioId', 'phase'].every(
    (key) => (own as Record<string, unknown>)[key] === (found as Record<string, unknown>)[key],
  );
}
