import { bindSession, type ClientIdentity } from '../core/bind-session.ts';
import { initialState } from '../core/initial-state.ts';
import type { LoopState } from '../core/schema/state.ts';
import type { StoredContract } from '../state/contract-store.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { lastRecord } from './last-record.ts';

/**
 * A state that says `complete` while its contract still stands. Whoever completes a loop archives it and drops the
 * contract at once; so either that process died in between, or somebody wrote the word in. Both are answered alike: the
 * loop goes on, and the next claim is verified.
 */
export function unproved(state: LoopState): boolean {
  return state.status === 'ended' && state.ended.as === 'complete';
}

/**
 * The loop as its contract and its journal know it, for a state file that somebody rewrote. Counters come from the last
 * iteration record; streaks begin anew; the session is the one that asks. `epoch` is that of the state it replaces: with
 * an older one the loop, once it was resumed, could not be written.
 */
export function restoreState(
  files: LoopFiles,
  stored: StoredContract,
  client: ClientIdentity,
  at: string,
  epoch: number,
): LoopState {
  const { hash, contract } = stored;
  const fresh = initialState({
    loopId: contract.loopId,
    name: contract.name,
    mode: 'hook',
    taskPath: contract.taskPath,
    contractHash: hash,
    maxIterations: contract.policy.maxIterations,
    at: contract.createdAt,
    consented: true,
  });
  const last = lastRecord(files, contract.loopId);
  const counted: LoopState = {
    ...fresh,
    epoch,
    turn: 'agent',
    iteration: last?.iteration ?? 0,
    idleIterations: last?.idleIterations ?? 0,
    lastFindingsCount: last?.findings ?? null,
    lastRunAt: last?.endedAt ?? contract.createdAt,
    lastDecision: { at, kind: 'started', detail: 'restored' },
  };
  return bindSession(counted, client);
}
