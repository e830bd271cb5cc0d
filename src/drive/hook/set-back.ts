import type { LoopState } from '../../core/schema/state.ts';
import type { StoredContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { lastRecord } from '../last-record.ts';

/**
 * Whether somebody rewrote the state: it is not the contract's, or it lies behind its own journal, which is written
 * after the state, while counters only rise.
 */
export function setBack(state: LoopState, stored: StoredContract, files: LoopFiles): boolean {
  if (state.contractHash !== stored.hash || state.loopId !== stored.contract.loopId) return true;
  const last = lastRecord(files, state.loopId);
  return last !== null && last.iteration > state.iteration;
}
