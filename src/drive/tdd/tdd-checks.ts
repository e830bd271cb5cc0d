import type { CheckResult } from '../../core/events.ts';
import type { Contract } from '../../core/schema/contract.ts';
import { remaining } from '../../core/tdd/standing.ts';
import { TDD_TEXTS } from '../../core/tdd/texts.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { loopsList } from './loops-list.ts';

const NAME = 'scenarios';

/** Whether every scenario of a TDD loop was proved, by the record outside the project; empty for every other loop. */
export function tddChecks(files: LoopFiles, contract: Pick<Contract, 'tdd'>): CheckResult[] {
  const list = loopsList(files, contract);
  if (list === null) return [];
  if (list === 'changed') return [{ name: NAME, outcome: 'changed', detail: TDD_TEXTS.listChanged }];
  if (list.broken !== null) {
    return [{ name: NAME, outcome: 'failed', detail: TDD_TEXTS.brokenSince(list.broken.scenarioId) }];
  }
  const left = remaining(list).map(({ id }) => id);
  const detail = TDD_TEXTS.progress(list.completed.length, list.scenarios.length, left);
  return [{ name: NAME, outcome: left.length === 0 ? 'ok' : 'failed', detail }];
}
