import type { Effect, EngineEvent } from '../../engine/events.ts';
import type { Policy } from '../../engine/schema/contract.ts';
import type { LiveState, LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import { readContract, readState } from '../../state/loop-files.ts';
import { withState } from '../../state/with-state.ts';
import { policyFromEnvironment } from '../../task/settings/from-environment.ts';
import { type DriverContext, isHeldByAnother, ownership } from '../control/ownership.ts';

/** Returns the live loop of this session as stored on disk, or null. Takes no lock. */
export function ownLoop(context: DriverContext): LiveState | null {
  const current = readState(context.files.state);
  if (current.kind !== 'loop' || current.state.status === 'ended') return null;
  return isOwn(current.state, context) ? current.state : null;
}

const isOwn = (state: LiveState, context: DriverContext): boolean =>
  ownership(state, context.env, context.input.sessionId) === 'ours' && !isHeldByAnother(state, context);

/** Dispatches events to the live loop of this session. Returns the effects; null if it no longer belongs to this session. */
export function dispatchOwn(context: DriverContext, events: readonly EngineEvent[]): Effect[] | null {
  return changeOwnLoop(context, (before, policy) => {
    let state: LoopState = before;
    const result = events.flatMap((event) => {
      const next = transition(state, event, policy);
      state = next.state;
      return next.effects;
    });
    return { state, result };
  });
}

/** Changes the live loop of this session under the lock. Returns null if it no longer belongs to this session (`isOurs`). */
export function changeOwnLoop<T>(
  context: DriverContext,
  change: (state: LiveState, policy: Policy) => { state: LoopState; result: T; written?: () => void },
  isOurs: (state: LiveState) => boolean = (state) => isOwn(state, context),
): T | null {
  return withState<T | null>(context.files, (current) => {
    if (current.kind !== 'loop' || current.state.status === 'ended' || !isOurs(current.state))
      return { next: 'keep', result: null };
    const policy =
      readContract(context.files)?.contract.policy ??
      policyFromEnvironment(context.env, context.files.projectDir).policy;
    const { state: next, ...changed } = change(current.state, policy);
    return { next, ...changed };
  });
}
