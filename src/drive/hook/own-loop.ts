import type { EngineEvent } from '../../engine/events.ts';
import { bindSession, type ClientIdentity, needsMessage } from '../../engine/initial-state.ts';
import { addUsage, exactCost } from '../../engine/policy/budget.ts';
import type { Policy } from '../../engine/schema/contract.ts';
import type { LiveState, LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import { blockOverridden } from '../../hosts/claude/transcript/transcript.ts';
import { readUsage } from '../../hosts/read-usage.ts';
import { readContract, readCounters, readState } from '../../state/loop-files.ts';
import { withPrefix } from '../../state/process/program.ts';
import { withState } from '../../state/with-state.ts';
import { policyFromEnvironment } from '../../task/settings/from-environment.ts';
import type { DriverContext } from '../control/ownership.ts';
import { callingClient, clientAlive, isHeldByAnother, ownership, sameClient } from '../control/ownership.ts';
import { withLostTurn } from '../control/present-state.ts';
import { applyEffects } from '../records/apply-effects.ts';
import { readCost, usageNow } from '../records/client-figures.ts';

/** Returns the live loop of this session as stored on disk, or null. Takes no lock. */
export function ownLoop(context: DriverContext): LiveState | null {
  const current = readState(context.files.state);
  if (current.kind !== 'loop' || current.state.status === 'ended') return null;
  return isOwn(current.state, context) ? current.state : null;
}

const isOwn = (state: LiveState, context: DriverContext): boolean =>
  ownership(state, context.env, context.input.sessionId) === 'ours' &&
  !isHeldByAnother(state, callingClient(context), readCounters(context.files));

/**
 * Dispatches events to the live loop of this session and applies the effects. Returns the messages for the user; null if the loop
 * no longer belongs to this session.
 */
export function dispatchOwn(context: DriverContext, at: string, events: readonly EngineEvent[]): string[] | null {
  const effects = changeOwnLoop(context, (before, policy) => {
    let state: LoopState = before;
    const result = events.flatMap((event) => {
      if (state.status === 'ended') return [];
      const next = transition(state, event, policy);
      state = next.state;
      return next.effects;
    });
    return { state, result };
  });
  if (effects === null) return null;
  applyEffects(context.files, at, effects);
  const isOver = effects.some(({ type }) => type === 'archive');
  return effects.flatMap((effect) => {
    const isTold = effect.type === 'notify' || (effect.type === 'allow' && isOver);
    return isTold && effect.message !== null ? [withPrefix(effect.message)] : [];
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

/** Binds the loop to this session if allowed. Returns whether the loop now belongs to it. */
export function bind(context: DriverContext): boolean {
  return withState<boolean>(context.files, (current) => {
    const client = callingClient(context);
    if (current.kind !== 'loop' || !mayBind(current.state, client, context)) return { next: 'keep', result: false };
    return { next: bound(current.state, client, context), result: true };
  });
}

function mayBind(state: LoopState, client: ClientIdentity, { files, env, input }: DriverContext): boolean {
  if (state.status === 'ended' || isHeldByAnother(state, client, readCounters(files))) return false;
  if (ownership(state, env, input.sessionId) !== 'foreign') return true;
  const wanted = env['RALPH_LOOP_ID'] || state.loopId;
  if (wanted !== state.loopId || state.mode !== 'hook') return false;
  // Another conversation of the same client takes the loop over, unless the agent works in the first one.
  if (sameClient(state, client)) return input.source === 'clear' || awaitsUser(state);
  // A launcher that resumes a dead client's loop passes the loop's id.
  return env['RALPH_LOOP_ID'] === wanted && !clientAlive(state);
}

function awaitsUser(state: LoopState): boolean {
  const present = withLostTurn(state).state;
  return present.status === 'paused' || needsMessage(present);
}

function bound(state: LoopState, client: ClientIdentity, context: DriverContext): LoopState {
  const { transcriptPath } = context.input;
  const isOver = state.sessionId !== context.input.sessionId || !sameClient(state, client);
  const unfinished = state.sessionId !== null && state.turn === 'agent' && isOver;
  // The turn ended with its client or its conversation, so the user's next message is not an interruption. The next prompt
  // reports an overridden block.
  const returned = unfinished && !blockOverridden(transcriptPath, state.lastDecision?.at ?? context.now());
  // Cost and usage of the last turn are reported, and written to its transcript, only after its Stop.
  const { usage, marks } = readUsage(state.marks.transcriptPath, state.marks);
  const former = { ...state, usage: addUsage(usageNow(context.files, state), usage, null), marks };
  const figure = readCost(context.files, client.sessionId);
  const base = figure === null ? null : exactCost(figure - (former.usage.costUsd ?? 0));
  const next = bindSession(returned ? { ...former, turn: 'rest' as const } : former, client, base);
  // Usage in a resumed transcript was counted before; only new usage belongs to the loop.
  const fresh = next.marks.transcriptPath !== transcriptPath;
  return fresh ? { ...next, marks: readUsage(transcriptPath, next.marks).marks } : next;
}
