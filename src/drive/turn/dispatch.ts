import type { Effect } from '../../engine/effects.ts';
import type { EngineEvent } from '../../engine/events.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import { findContract } from '../../state/contract-store.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { LOCK_WAIT, type StateOptions, withState } from '../../state/with-state.ts';
import { endedLoop } from '../status/ended-loop.ts';
import { CLIENT_GONE, type Dispatched, type Loaded, loadedUnder, type Turn } from './turn.ts';

/** Dispatches an event to the engine, under the lock, for this loop and the driver's epoch only. */
export function dispatch(turn: Turn, event: EngineEvent): Dispatched {
  const { loaded, context } = turn;
  return withState<Dispatched>(context.files, lockOptions(turn), (current) => {
    if (current.kind !== 'loop' || current.state.loopId !== loaded.state.loopId) {
      return { next: 'keep', result: { turn, effects: [loopOver(turn)] } };
    }
    const now = underContract(loaded, current.state, context.files);
    const { state, effects } = transition(current.state, event, now.policy);
    return { next: state, result: { turn: { ...turn, loaded: { ...now, state } }, effects } };
  });
}

/** Returns the loop with the contract that its state names: the user may have accepted another since it was loaded. */
export function underContract(loaded: Loaded, state: LoopState, files: LoopFiles): Loaded {
  const { stored, restored } = loaded;
  const found = stored === null || stored.hash === state.contractHash ? stored : findContract(files);
  const isAdopted = typeof found === 'object' && found?.hash === state.contractHash;
  if (found === stored || !isAdopted || found.contract.loopId !== state.loopId) return { ...loaded, state };
  return loadedUnder(found, state, restored);
}

export function lockOptions({ lease }: Pick<Turn, 'lease'>): StateOptions {
  return { ...LOCK_WAIT, ...(lease && { lease }) };
}

export function loopOver({ context, loaded }: Turn): Effect {
  return { type: 'allow', message: endedLoop(context.files, loaded.state.loopId)?.message ?? null };
}

export function handleAbort(turn: Turn): Dispatched {
  if (turn.keepsLoopOnAbort) return { turn, effects: [] };
  const by = turn.signal.reason === CLIENT_GONE ? 'client-exit' : 'signal';
  return dispatch(turn, { type: 'interrupted', at: turn.context.now(), by });
}

/** Starts a turn in a fresh context and requeues messages that the previous agent never answered. */
export function startFreshTurn(turn: Turn): Dispatched {
  const requeued = dispatch(turn, { type: 'prompt-made', at: turn.context.now(), outcome: 'given-up' });
  const first = dispatch(requeued.turn, { type: 'first-prompt', at: turn.context.now() });
  const { handedOver } = first.turn.loaded.state;
  if (first.effects.length > 0 || handedOver === null) return first;
  return { turn: first.turn, effects: [{ type: 'prompt', ...handedOver }] };
}
