import { adoptFourKeys, bindSession } from '../../../engine/initial-state.ts';
import type { FourKeyState } from '../../../engine/schema/state.ts';
import type { HookAnswer } from '../../../hosts/hook-io/stdio.ts';
import { lastRecord, lastWhere } from '../../../state/event-stream.ts';
import { contractOrLoss } from '../../../state/evidence/evidence.ts';
import type { ReadState, StoredContract } from '../../../state/loop-files.ts';
import { findContract, findLiveContract, log, readContract } from '../../../state/loop-files.ts';
import { show, withPrefix } from '../../../state/process/program.ts';
import { quarantine, withState } from '../../../state/with-state.ts';
import { policyFromEnvironment } from '../../../task/settings/from-environment.ts';
import { DEFAULT_TASK } from '../../../task/task-file.ts';
import type { DriverContext } from '../../control/ownership.ts';
import {
  boundLoop,
  callingClient,
  drivenElsewhere,
  isHeldByAnother,
  loopOfSession,
  ownership,
} from '../../control/ownership.ts';
import { recordEvent } from '../../records/journal.ts';
import { HOOK_TEXTS } from '../../turn/messages.ts';
import { isRewritten, restoreState } from '../../turn/tampering.ts';
import { type Loaded, loadedUnder, newTurn, type Turn } from '../../turn/turn.ts';

export type OpenedTurn = { readonly turn: Turn } | { readonly answer: HookAnswer | null };

/** Loads this session's own loop under the lock, with its state restored if necessary. */
export function openTurn(context: DriverContext, signal: Turn['signal'], deadline: number): OpenedTurn {
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
  switch (current.kind) {
    case 'absent':
      return { kind: 'absent' };
    case 'newer':
      return { kind: 'none', message: HOOK_TEXTS.newer(context.files.state, current.version) };
    case 'corrupt': {
      const text = HOOK_TEXTS.corrupt(quarantine(context.files, context.now(), 'corrupt'), current.problem);
      return { kind: 'none', message: show(text, { name: context.files.name, mode: 'hook' }) };
    }
    case 'four-keys': {
      const stored = readContract(context.files);
      return stored === null ? adopted(current.file, context) : restored(stored, context, 0);
    }
    case 'loop':
      return loadOwn(current, context);
    default:
      return current satisfies never;
  }
}

const MISSING = 'state.missing';

/** Reports once that the state file of this session's loop is missing. */
function vanished({ env, files, input, now }: DriverContext): string | null {
  const loopId = loopOfSession(files, env, input.sessionId);
  if (loopId === null || findLiveContract(files, loopId) === null) return null;
  if (lastWhere(files, loopId, [MISSING, 'loop.'])?.['type'] === MISSING) return null;
  const event = { type: MISSING, at: now(), loopId, iteration: lastRecord(files, loopId)?.iteration ?? 0 };
  recordEvent(files, now(), event);
  return show(HOOK_TEXTS.vanished, { name: files.name, mode: 'hook' });
}

/** Takes over a loop that another program has begun, unless this session was started for another one. */
function adopted(file: FourKeyState, context: DriverContext): LoadedLoop {
  if (context.env['RALPH_LOOP_ID']) return NOT_OURS;
  const client = callingClient(context);
  const { policy, notes } = policyFromEnvironment(context.env, context.files.projectDir);
  for (const note of notes) log(context.files, context.now(), 'environment', note);
  const { name } = context.files;
  const state = adoptFourKeys(file, { name, taskPath: DEFAULT_TASK, maxIterations: policy.maxIterations });
  return {
    kind: 'loop',
    loaded: { state: bindSession(state, client), policy, stored: null, restored: null, lost: null },
  };
}

function loadOwn({ state, wentBack }: Extract<ReadState, { kind: 'loop' }>, context: DriverContext): LoadedLoop {
  const owned = ownership(state, context.env, context.input.sessionId);
  if (owned === 'foreign') return takenAway(state.epoch, context);
  if (isHeldByAnother(state, context)) return NOT_OURS;
  if (owned === 'unbound' && context.env['RALPH_LOOP_ID']) return NOT_OURS;
  // An unbound loop with an unreadable contract cannot begin; the session it was started for reports that.
  if (owned === 'unbound' && findContract(context.files) === 'unreadable') return NOT_OURS;
  // A client that continues the conversation of one that was about to exit has found it alive at its start.
  const isJoining = owned === 'unbound' || state.sessionId === context.input.sessionId;
  const client = isJoining ? callingClient(context) : null;
  const { stored, lost } = contractOrLoss(context.files, state);
  const last = stored && lastRecord(context.files, state.loopId);
  if (stored !== null && isRewritten(state, stored, last)) return restored(stored, context, state.epoch);
  const policy = stored?.contract.policy ?? policyFromEnvironment(context.env, context.files.projectDir).policy;
  const bound = client === null ? state : bindSession(state, client);
  return { kind: 'loop', loaded: { state: bound, policy, stored, restored: wentBack ?? null, lost } };
}

/** Restores a loop whose state says that it belongs to another session or driver, which no process of ours has written. */
function takenAway(epoch: number, context: DriverContext): LoadedLoop {
  const { files, env, input } = context;
  const bound = boundLoop(files, env, input.sessionId);
  const stored = bound && findLiveContract(files, bound);
  return stored ? restored(stored, context, epoch) : NOT_OURS;
}

function restored(stored: StoredContract, context: DriverContext, epoch: number): LoadedLoop {
  const wanted = context.env['RALPH_LOOP_ID'];
  if (wanted && wanted !== stored.contract.loopId) return NOT_OURS;
  const client = callingClient(context);
  const moved = quarantine(context.files, context.now(), 'tampered');
  const state = restoreState(context.files, stored, client, context.now(), epoch);
  return { kind: 'loop', loaded: loadedUnder(stored, state, HOOK_TEXTS.restored(moved, state.iteration)) };
}
