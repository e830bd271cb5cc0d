import { adoptFourKeys, bindSession } from '../../../engine/initial-state.ts';
import type { HookAnswer } from '../../../hosts/hook-io/stdio.ts';
import { lossIn } from '../../../state/evidence/evidence-lost.ts';
import { liveContract } from '../../../state/evidence/live-contract.ts';
import { findContract, log, type ReadState, readContract, type StoredContract } from '../../../state/loop-files.ts';
import { show } from '../../../state/process/program.ts';
import { quarantine, withState } from '../../../state/with-state.ts';
import { policyFromEnvironment } from '../../../task/settings/from-environment.ts';
import { DEFAULT_TASK } from '../../../task/task-file.ts';
import { clientIdentity, type DriverContext, drivenElsewhere, ownership } from '../../control/ownership.ts';
import { HOOK_TEXTS, withPrefix } from '../../turn/messages.ts';
import { isRewritten, restoreState } from '../../turn/tampering.ts';
import { type Loaded, loadedUnder, newTurn, type Turn } from '../../turn/turn.ts';

export type OpenedTurn =
  | { readonly turn: Turn }
  | { readonly answer: HookAnswer | null; readonly found: ReadState['kind'] };

/** Loads this session's own loop under the lock, with its state restored if necessary. */
export function openTurn(context: DriverContext, signal: Turn['signal'], deadline: number): OpenedTurn {
  const { loop, found } = withState<{ loop: LoadedLoop; found: ReadState['kind'] }>(context.files, (current) => {
    const loop = loadLoop(current, context);
    return { next: loop.kind === 'loop' ? loop.loaded.state : 'keep', result: { loop, found: current.kind } };
  });
  if (loop.kind === 'none') {
    return { answer: loop.message === null ? null : { systemMessage: withPrefix(loop.message) }, found };
  }
  const { transcriptPath } = context.input;
  return { turn: newTurn(context, loop.loaded, { transcriptPath, deadline, signal, freshContext: false }) };
}

type LoadedLoop =
  | { readonly kind: 'none'; readonly message: string | null }
  | { readonly kind: 'loop'; readonly loaded: Loaded };

/** Loads the loop of a Stop, under the lock. Throws RalphError `contract-changed` if its contract is unreadable. */
export function loadLoop(current: ReadState, context: DriverContext): LoadedLoop {
  if (drivenElsewhere(context.env)) return { kind: 'none', message: null };
  switch (current.kind) {
    case 'absent':
      return { kind: 'none', message: null };
    case 'newer':
      return { kind: 'none', message: HOOK_TEXTS.newer(context.files.state, current.version) };
    case 'corrupt': {
      const moved = quarantine(context.files, context.now(), 'corrupt');
      return {
        kind: 'none',
        message: show(HOOK_TEXTS.corrupt(moved, current.problem), { name: context.files.name, mode: 'hook' }),
      };
    }
    case 'four-keys':
      return loadFourKeys(current, context);
    case 'loop':
      return loadOwn(current, context);
    default:
      return current satisfies never;
  }
}

function loadFourKeys(current: Extract<ReadState, { kind: 'four-keys' }>, context: DriverContext): LoadedLoop {
  const stored = readContract(context.files);
  if (stored !== null) return restored(stored, context, 0);
  if (context.env['RALPH_LOOP_ID']) return { kind: 'none', message: null }; // started for another loop
  const { policy, notes } = policyFromEnvironment(context.env, context.files.projectDir);
  for (const note of notes) log(context.files, context.now(), 'environment', note);
  const { name } = context.files;
  const adopted = adoptFourKeys(current.file, { name, taskPath: DEFAULT_TASK, maxIterations: policy.maxIterations });
  const state = bindSession(adopted, clientIdentity(context));
  return { kind: 'loop', loaded: { state, policy, stored: null, restored: null, lost: null } };
}

function loadOwn(current: Extract<ReadState, { kind: 'loop' }>, context: DriverContext): LoadedLoop {
  const { state, wentBack = null } = current;
  const owned = ownership(state, context);
  if (owned === 'foreign' || (owned === 'unbound' && context.env['RALPH_LOOP_ID']))
    return { kind: 'none', message: null };
  // An unbound loop with an unreadable contract cannot begin; the session it was started for reports that.
  if (owned === 'unbound' && findContract(context.files) === 'unreadable') return { kind: 'none', message: null };
  const bound = owned === 'unbound' ? bindSession(state, clientIdentity(context)) : state;
  let stored: StoredContract | null;
  try {
    stored = liveContract(context.files, state);
  } catch (error) {
    const { policy } = policyFromEnvironment(context.env, context.files.projectDir);
    return { kind: 'loop', loaded: { state: bound, policy, stored: null, restored: wentBack, lost: lossIn(error) } };
  }
  if (stored !== null && isRewritten(state, stored, context.files)) return restored(stored, context, state.epoch);
  const policy = stored?.contract.policy ?? policyFromEnvironment(context.env, context.files.projectDir).policy;
  return { kind: 'loop', loaded: { state: bound, policy, stored, restored: wentBack, lost: null } };
}

function restored(stored: StoredContract, context: DriverContext, epoch: number): LoadedLoop {
  const wanted = context.env['RALPH_LOOP_ID'];
  if (wanted && wanted !== stored.contract.loopId) return { kind: 'none', message: null };
  const client = clientIdentity(context);
  const moved = quarantine(context.files, context.now(), 'tampered');
  const state = restoreState(context.files, stored, client, context.now(), epoch);
  const warning = HOOK_TEXTS.restored(moved, state.iteration);
  return { kind: 'loop', loaded: loadedUnder(stored, state, warning) };
}
