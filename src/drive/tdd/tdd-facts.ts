import type { EngineEvent } from '../../core/events.ts';
import type { Contract } from '../../core/schema/contract.ts';
import { allComplete } from '../../core/tdd/standing.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { loopsList } from './loops-list.ts';

type Facts = Partial<Pick<Extract<EngineEvent, { type: 'iteration-ended' }>, 'scenario' | 'taskDone'>>;

/** What the list of a TDD loop tells of an iteration that is over; nothing for every other loop. */
export function tddFacts(files: LoopFiles, contract: Pick<Contract, 'tdd'> | undefined): Facts {
  const list = contract === undefined ? null : loopsList(files, contract);
  if (list === null) return {};
  // Without the list nobody knows what was worked on: the breaker hears of nothing, and a claim is rejected.
  if (list === 'changed') return { scenario: null };
  return { scenario: list.current, ...(allComplete(list) && { taskDone: true }) };
}
