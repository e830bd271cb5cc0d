import type { Contract } from '../../core/schema/contract.ts';
import type { TddRecord } from '../../core/schema/tdd-state.ts';
import { hashTddList } from '../../state/hash-tdd-list.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { peekTdd } from '../../state/tdd-store.ts';

/**
 * The list that a loop was started over, as it was proved outside the project; null for a loop that has none, `changed`
 * where the list is gone, cannot be read, or is another one than at the start. Never throws.
 */
export function loopsList(files: LoopFiles, { tdd }: Pick<Contract, 'tdd'>): TddRecord | 'changed' | null {
  if (tdd === undefined) return null;
  const record = peekTdd(files);
  return record !== null && hashTddList(record) === tdd.hash ? record : 'changed';
}
