import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import { withCounters } from '../../engine/counters.ts';
import { bindSession, type ClientIdentity, initialState } from '../../engine/initial-state.ts';
import { PAUSED_BY_USER, PAUSED_INTERRUPTED } from '../../engine/messages.ts';
import type { LoopState, PauseReason } from '../../engine/schema/state.ts';
import { pause } from '../../engine/transitions/build.ts';
import { checkShape } from '../../state/check-shape.ts';
import { lastWhere } from '../../state/event-stream.ts';
import type { LoopFiles, StoredContract } from '../../state/loop-files.ts';
import { readCounters } from '../../state/read-counters.ts';
import type { Message } from '../../text/message.ts';
import { lastRecord } from '../records/journal.ts';

/** Returns whether a state file was rewritten by another program, according to its contract and its journal. */
export function isRewritten(state: LoopState, stored: StoredContract, files: LoopFiles): boolean {
  // Both record the consent.
  const lacksConsent = !stored.contract.consented && state.status !== 'awaiting-consent' && state.status !== 'ended';
  return hasUnverifiedCompletion(state) || lacksConsent || isTampered(state, stored, files);
}

/** Returns whether a state contradicts its contract or is older than its journal, which is written after it. */
function isTampered(state: LoopState, stored: StoredContract, files: LoopFiles): boolean {
  const { contract, hash } = stored;
  if (state.contractHash !== hash || state.loopId !== contract.loopId) return true;
  if (state.maxIterations !== contract.policy.maxIterations) return true;
  // A loop begins before or with its contract; a later start would extend its time budget.
  if (Date.parse(state.startedAt) > Date.parse(contract.createdAt)) return true;
  const last = lastRecord(files, state.loopId);
  return last !== null && last.iteration > state.iteration;
}

const PAUSED_TEXTS: Record<UsersPause, Message> = { operator: PAUSED_BY_USER, interrupted: PAUSED_INTERRUPTED };

/**
 * Returns whether a state is `complete` while its contract still exists. Completion archives the loop and removes its
 * contract at once, so the process died in between or the state was forged. In both cases the loop continues and the next
 * claim is verified.
 */
export function hasUnverifiedCompletion(state: LoopState): boolean {
  return state.status === 'ended' && state.ended.as === 'complete';
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
  const { maxIterations } = policy;
  const known = { loopId, name, taskPath, consented, maxIterations };
  const fresh = initialState({ ...known, mode: 'hook', contractHash: hash, at: createdAt });
  const record = lastRecord(files, contract.loopId);
  const last = checkShape(record, shapes.counters) === null ? record : null;
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
  const kept = readCounters(files);
  const unkept = bindSession(counted, client);
  const bound = kept?.loopId === loopId ? withCounters(unkept, kept) : unkept;
  const pausedBy = contract.consented ? lastPause(files, contract.loopId) : null;
  return pausedBy === null ? bound : pause(bound, at, pausedBy, PAUSED_TEXTS[pausedBy]);
}

/** Pauses made by the user, which only the user can end. */
type UsersPause = Extract<PauseReason, 'operator' | 'interrupted'>;

/** Events that begin or end a pause. Steering and notices do neither. */
const SAYS_SO = ['loop.', 'iteration.completed', 'iteration.failed', 'iteration.idle'];

/** Returns how the user paused this loop; null unless that is the last relevant entry of its events journal. */
function lastPause(files: LoopFiles, loopId: string): UsersPause | null {
  const { type, reason } = lastWhere(files, loopId, SAYS_SO) ?? {};
  return type === 'loop.paused' && (reason === 'operator' || reason === 'interrupted') ? reason : null;
}
