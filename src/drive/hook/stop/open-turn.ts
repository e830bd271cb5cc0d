import { adoptFourKeys, bindSession } from '../../../engine/initial-state.ts';
import type { LoopState } from '../../../engine/schema/state.ts';
import type { HookAnswer } from '../../../hosts/hook-io/stdio.ts';
import { lastRecord, lastWhere } from '../../../state/event-stream.ts';
import { contractOrLoss } from '../../../state/evidence/evidence.ts';
import type { ReadState } from '../../../state/loop-files.ts';
import { contractIfOf, type LoopRecords, log, readContract, readRecords } from '../../../state/loop-files.ts';
import { show, withPrefix } from '../../../state/process/program.ts';
import { isRewritten, replaceRewritten } from '../../../state/restore-state.ts';
import { quarantine, withState } from '../../../state/with-state.ts';
import { policyFromEnvironment } from '../../../task/settings/from-environment.ts';
import { DEFAULT_TASK } from '../../../task/task-file.ts';
import type { DriverContext } from '../../control/ownership.ts';
import {
  boundLoop,
  type Cancellation,
  callingClient,
  cancellationOf,
  drivenElsewhere,
  isHeldByAnother,
  loopOfSession,
  ownership,
} from '../../control/ownership.ts';
import { recordEvent } from '../../records/journal.ts';
import { HOOK_TEXTS } from '../../turn/messages.ts';
import { type Loaded, loadedUnder, newTurn, type Turn } from '../../turn/turn.ts';

export type OpenedTurn =
  | { readonly turn: Turn }
  | { readonly answer: HookAnswer | null }
  | { readonly cancelled: Partial<Cancellation> };

/** Loads this session's own loop under the lock, with its state restored if necessary, unless it ended during the turn. */
export function openTurn(context: DriverContext, signal: Turn['signal'], deadline: number): OpenedTurn {
  const cancelled = cancellationOf(context.files, context.env, context.input.sessionId);
  if (cancelled !== null) return { cancelled };
  const loop = withState<LoadedLoop>(context.files, (current) => {
    const found = loadLoop(current, context);
    return { next: found.kind === 'loop' ? found.loaded.state : 'keep', result: found };
  });
  if (loop.kind === 'loop') {
    const { transcriptPath } = context.input;
    return { turn: newTurn(context, loop.loaded, { transcriptPath, deadline, signal, freshContext: false }) };
  }
  const message = loop.kind === 'absent' ? vanished(context) : loop.message;
  return { answer: message === null ? null : { systemMessage: withPrefix(message) } };
}

type LoadedLoop =
  | { readonly kind: 'absent' }
  | { readonly kind: 'none'; readonly message: string | null }
  | { readonly kind: 'loop'; readonly loaded: Loaded };

const NOT_OURS: LoadedLoop = { kind: 'none', message: null };

/** Loads the loop of a Stop, under the lock. Throws RalphError `contract-changed` if its contract is unreadable. */
export function loadLoop(current: ReadState, context: DriverContext): LoadedLoop {
  if (drivenElsewhere(context.env)) return NOT_OURS;
  const records = readRecords(context.files);
  switch (current.kind) {
    case 'absent':
      return { kind: 'absent' };
    case 'newer':
      return { kind: 'none', message: HOOK_TEXTS.newer(context.files.state, current.version) };
    case 'corrupt': {
      const moved = quarantine(context.files, context.now(), 'corrupt');
      const text = HOOK_TEXTS.corrupt(moved, current.problem, typeof records.contract === 'object');
      return { kind: 'none', message: show(text, { name: context.files.name, mode: 'hook' }) };
    }
    case 'four-keys':
    case 'loop':
      return loadFound(current, records, context);
    default:
      return current satisfies never;
  }
}

const MISSING = 'state.missing';

/** Reports once that the state file of this session's loop is missing. */
function vanished({ env, files, input, now }: DriverContext): string | null {
  const records = readRecords(files);
  const loopId = loopOfSession(records, env, input.sessionId);
  if (loopId === null || contractIfOf(loopId, records.contract) === null) return null;
  if (lastWhere(files, loopId, [MISSING, 'loop.'])?.['type'] === MISSING) return null;
  const event = { type: MISSING, at: now(), loopId, iteration: lastRecord(files, loopId)?.iteration ?? 0 };
  recordEvent(files, now(), event);
  return show(HOOK_TEXTS.vanished, { name: files.name, mode: 'hook' });
}

type FoundState = Extract<ReadState, { readonly kind: 'loop' | 'four-keys' }>;

/** Determines whose loop was read and whether its state is its own, then restores the state or keeps it. */
function loadFound(current: FoundState, records: LoopRecords, context: DriverContext): LoadedLoop {
  const { sessionId } = context.input;
  const wanted = context.env['RALPH_LOOP_ID'];
  const client = callingClient(context);
  const isOwn = current.kind === 'loop' && ownership(current.state, context.env, sessionId) !== 'foreign';
  const own = isOwn ? current.state : null;
  if (own !== null && isHeldByAnother(own, client, records.counters)) return NOT_OURS;
  // An unbound loop with an unreadable contract cannot begin; the session it was started for reports that.
  if (own?.sessionId === null && (wanted || records.contract === 'unreadable')) return NOT_OURS;

  const { stored, lost } = contractBehind(current, own, records, context);
  const last = own && stored && lastRecord(context.files, own.loopId);
  // It is another session's loop or, in a session started for a loop, that of another program.
  if (own === null && stored === null && (current.kind === 'loop' || wanted)) return NOT_OURS;
  if (stored !== null && (own === null || isRewritten(own, stored, last))) {
    if (wanted && wanted !== stored.contract.loopId) return NOT_OURS;
    const epoch = current.kind === 'loop' ? current.state.epoch : 0;
    const { state, moved } = replaceRewritten(context.files, stored, client, context.now(), epoch);
    return { kind: 'loop', loaded: loadedUnder(stored, state, HOOK_TEXTS.restored(moved, state.iteration)) };
  }

  const { policy, notes } = stored
    ? { policy: stored.contract.policy, notes: [] }
    : policyFromEnvironment(context.env, context.files.projectDir);
  if (current.kind === 'loop') {
    // A client that continues the conversation of a client about to exit found it still alive at its start.
    const isJoining = current.state.sessionId === null || current.state.sessionId === sessionId;
    const state = isJoining ? bindSession(current.state, client) : current.state;
    return { kind: 'loop', loaded: { state, policy, stored, restored: current.wentBack ?? null, lost } };
  }
  // Takes over a loop created by another program.
  for (const note of notes) log(context.files, context.now(), 'environment', note);
  const { maxIterations } = policy;
  const begun = adoptFourKeys(current.file, { name: context.files.name, taskPath: DEFAULT_TASK, maxIterations });
  return { kind: 'loop', loaded: { state: bindSession(begun, client), policy, stored, restored: null, lost } };
}

/** Reads the contract under which a loop continues (`own`) or its state is restored. Throws `contract-changed`. */
function contractBehind(current: FoundState, own: LoopState | null, found: LoopRecords, context: DriverContext) {
  if (own !== null) return contractOrLoss(context.files, own, found);
  if (current.kind === 'four-keys') return { stored: readContract(context.files, found.contract), lost: null };
  // If a loop was bound to this session but its state names another, no process of ours wrote that state.
  const bound = boundLoop(found, context.env, context.input.sessionId);
  return { stored: bound === null ? null : contractIfOf(bound, found.contract), lost: null };
}
