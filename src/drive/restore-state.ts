import { bindSession, type ClientIdentity } from '../core/bind-session.ts';
import { initialState } from '../core/initial-state.ts';
import type { LoopState } from '../core/schema/state.ts';
import { PAUSED_BY_USER, PAUSED_INTERRUPTED } from '../core/texts.ts';
import { pause } from '../core/transitions/common.ts';
import { checkShape, type Shape } from '../state/check-shape.ts';
import type { StoredContract } from '../state/contract-store.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { lastPause, type UsersPause } from './last-pause.ts';
import { lastRecord } from './last-record.ts';

const PAUSED_TEXTS: Record<UsersPause, string> = { operator: PAUSED_BY_USER, interrupted: PAUSED_INTERRUPTED };
/** What is taken from a journal, which lies in the project: a state with anything else in it could not be read. */
const COUNTED: Shape = { iteration: 'count', idleIterations: 'count', findings: 'count?', endedAt: 'instant' };

/**
 * A state that says `complete` while its contract still stands. Whoever completes a loop archives it and drops the
 * contract at once; so either that process died in between, or somebody wrote the word in. Both are answered alike: the
 * loop goes on, and the next claim is verified.
 */
export function unproved(state: LoopState): boolean {
  return state.status === 'ended' && state.ended.as === 'complete';
}

/** A state that goes on although its contract says that nobody has agreed to the loop: who agrees says it in both. */
export function unagreed(state: LoopState, { contract }: StoredContract): boolean {
  return !contract.consented && state.status !== 'awaiting-consent' && state.status !== 'ended';
}

/**
 * The loop as its contract and its journals know it, for a state file that somebody rewrote: still without consent where
 * nobody gave it, paused where the user had paused it, else running. Counters come from the last iteration record;
 * streaks begin anew; the session is the one that asks. `epoch` is that of the state it replaces: with an older one the
 * loop, once it was resumed, could not be written.
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
    consented: contract.consented,
  });
  const record = lastRecord(files, contract.loopId);
  const last = checkShape(record, COUNTED) === null ? record : null;
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
  const bound = bindSession(counted, client);
  const pausedBy = contract.consented ? lastPause(files, contract.loopId) : null;
  return pausedBy === null ? bound : pause(bound, at, pausedBy, PAUSED_TEXTS[pausedBy]);
}
