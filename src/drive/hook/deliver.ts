import type { Contract, Policy } from '../../engine/schema/contract.ts';
import type { LiveState, LoopState } from '../../engine/schema/state.ts';
import { transition } from '../../engine/transition.ts';
import type { HookAnswer } from '../../hosts/hook-io/stdio.ts';
import { endOverBudget } from '../control/end-over-budget.ts';
import { applyFlagFiles } from '../control/operate.ts';
import { type DriverContext, ownership, routersOwn, runnersOwn } from '../control/ownership.ts';
import { recordEffects } from '../records/apply-effects.ts';
import { projectionOf } from '../records/status-projection.ts';
import { announcement } from '../turn/messages.ts';
import { changeOwnLoop } from './own-loop.ts';
import { turnEnds } from './tool-answer.ts';

/**
 * Ends a session's loop that a cancel flag names (`hasFlag`) or that has used its budget; null if it continues. A runner
 * watches by itself.
 */
export function endIfDue(
  context: DriverContext,
  loop: LiveState,
  contract: Contract,
  hasFlag: boolean,
): HookAnswer | null {
  const { files, env, input, now } = context;
  const isOurs = (state: LoopState): boolean => ownership(state, env, input.sessionId) !== 'foreign';
  if (hasFlag && applyFlagFiles(files, env, now(), contract, { isOurs })) return turnEnds();
  if (loop.turn === 'user') return null;
  const spent = endOverBudget(files, loop, contract, { env, at: now(), transcriptPath: input.transcriptPath });
  return spent === null ? null : turnEnds(spent);
}

/**
 * Takes due steering out of the state under the lock, so that only one of several hooks delivers it; null if there is none.
 * Its `systemMessage` is null if the user wrote all of it.
 */
export function deliverSteering(context: DriverContext) {
  const { env, host, files, input, now } = context;
  const runners = (state: LiveState): boolean => host?.hooksSteer === true && runnersOwn(state.loopId, env);
  const ours = (state: LiveState): boolean =>
    ownership(state, env, input.sessionId) === 'ours' || routersOwn(state, env, input.sessionId) || runners(state);
  const deliver = (state: LiveState, policy: Policy) => {
    const due = state.steering.filter(({ delivery }) => delivery === 'now');
    const ids = due.map(({ id }) => id);
    const at = now();
    const next = transition(state, { type: 'steering-delivered', at, ids }, policy);
    return { state: next.state, result: due, written: (): void => recordEffects(files, at, next.effects) };
  };
  const due = changeOwnLoop(context, deliver, ours) ?? [];
  if (due.length === 0) return null;
  // The event is recorded. Delivery has no other effect: it ends and pauses nothing.
  projectionOf(files, now()).status(now());
  const additionalContext = `The user says, to be followed from now on:\n${due.map(({ text }) => text).join('\n')}`;
  return { additionalContext, systemMessage: announcement(due) };
}
