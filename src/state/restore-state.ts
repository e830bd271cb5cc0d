import shapes from '../../.build/record-shapes.json' with { type: 'json' };
import { withCounters } from '../engine/counters.ts';
import { bindSession, type ClientIdentity, initialState } from '../engine/initial-state.ts';
import { PAUSED_BY_USER, PAUSED_INTERRUPTED } from '../engine/messages.ts';
import { planOf } from '../engine/plan/attempt.ts';
import type { IterationRecord } from '../engine/schema/records.ts';
import type { LoopState } from '../engine/schema/state.ts';
import { pause } from '../engine/transitions/build.ts';
import { checkShape } from './check-shape.ts';
import { lastRecord, lastWhere } from './event-stream.ts';
import { type LoopFiles, readCounters, type StoredContract } from './loop-files.ts';
import { quarantine } from './with-state.ts';

/**
 * Returns whether a state file was rewritten by another program: it contradicts its contract, or is older than the last
 * record of its journal, which is written after it.
 */
export function isRewritten(
  state: LoopState,
  { contract, hash }: StoredContract,
  last: IterationRecord | null,
): boolean {
  if (hasUnverifiedCompletion(state)) return true;
  // Both record the consent.
  if (!contract.consented && state.status !== 'awaiting-consent' && state.status !== 'ended') return true;
  if (state.contractHash !== hash || state.loopId !== contract.loopId) return true;
  if (state.maxIterations !== contract.policy.maxIterations) return true;
  if (contract.policy.plan !== undefined && state.iteration > 0 && !('plan' in state)) return true;
  // A loop begins before or with its contract; a later start would extend its time budget.
  if (Date.parse(state.startedAt) > Date.parse(contract.createdAt)) return true;
  return last !== null && last.iteration > state.iteration;
}

/** Events that begin or end a pause. Steering and notices do neither. */
const SAYS_SO = ['loop.', 'iteration.completed', 'iteration.failed', 'iteration.idle'];

/** Messages of the pauses made by the user, which only the user can end. */
const PAUSED_TEXTS = { operator: PAUSED_BY_USER, interrupted: PAUSED_INTERRUPTED } as const;

/**
 * Returns whether a state is `complete` while its contract still exists. Completion archives the loop and removes its
 * contract at once, so the process died in between or the state was forged. In both cases the loop continues and the next
 * claim is verified.
 */
export function hasUnverifiedCompletion(state: LoopState): boolean {
  return state.status === 'ended' && state.ended.as === 'complete';
}

/** Moves the file of a rewritten state aside, and restores the state. Returns the file's new path as well. */
export function replaceRewritten(
  files: LoopFiles,
  stored: StoredContract,
  client: ClientIdentity,
  at: string,
  epoch: number,
): { readonly state: LoopState; readonly moved: string } {
  const moved = quarantine(files, at, 'tampered');
  return { state: restoreState(files, stored, client, at, epoch), moved };
}

/**
 * Restores a rewritten state from the contract and journals: awaiting consent if none was given, paused if the user had
 * paused the loop, otherwise running. Counters are the kept ones, or those of the last iteration record if it has more;
 * streaks restart, and the session is the caller's. `epoch` is that of the replaced state, because an older one could no longer be written.
 */
export function restoreState(
  files: LoopFiles,
  stored: StoredContract,
  client: ClientIdentity,
  at: string,
  epoch: number,
): LoopState {
  const { hash, contract } = stored;
  const { loopId, name, taskPath, consented, createdAt, policy } = contract;
  const record = lastRecord(files, loopId);
  const { type, reason } = (consented && lastWhere(files, loopId, SAYS_SO)) || {};
  const kept = readCounters(files);
  const last = checkShape(record, shapes.counters) === null ? record : null;
  const { maxIterations } = policy;
  const known = { loopId, name, taskPath, consented, maxIterations };
  const counted: LoopState = {
    ...initialState({ ...known, mode: 'hook', contractHash: hash, at: createdAt }),
    epoch,
    turn: 'agent',
    iteration: last?.iteration ?? 0,
    idleIterations: last?.idleIterations ?? 0,
    lastFindingsCount: last?.findings ?? null,
    lastRunAt: last?.endedAt ?? createdAt,
    lastDecision: { at, kind: 'started', detail: 'restored' },
  };
  const bound = bindSession(counted, client);
  const withCounts = kept?.loopId === loopId ? withCounters(bound, kept) : bound;
  // What an iteration has done of its plan is unknown, so that the record of the open task says it.
  const hasWorked = policy.plan !== undefined && withCounts.iteration > 0;
  const restored = hasWorked ? { ...withCounts, plan: { ...planOf({}), resumed: false } } : withCounts;
  const isPaused = type === 'loop.paused' && (reason === 'operator' || reason === 'interrupted');
  return isPaused ? pause(restored, at, reason, PAUSED_TEXTS[reason]) : restored;
}
