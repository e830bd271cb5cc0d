import type { LoopState } from '../../core/schema/state.ts';
import type { StoredContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { lastRecord } from '../last-record.ts';

/**
 * Whether somebody rewrote the state: it is not the contract's, or it lies behind its own journal, which is written
 * after the state, while counters only rise.
 */
export function setBack(state: LoopState, stored: StoredContract, files: LoopFiles): boolean {
  const { contract, hash } = stored;
  if (state.contractHash !== hash || state.loopId !== contract.loopId) return true;
  if (state.maxIterations !== contract.policy.maxIterations) return true;
  // A loop began before or when its contract was made; a later start would stretch its time budget.
  if (Date.parse(state.startedAt) > Date.parse(contract.createdAt)) return true;
  const last = lastRecord(files, state.loopId);
  return last !== null && last.iteration > state.iteration;
}
