import type { Policy } from '../../core/schema/policy.ts';
import { transition } from '../../core/transition.ts';
import { carryOut } from '../carry-out.ts';
import type { DriverContext } from '../turn/context.ts';
import { ownership, routersOwn } from '../turn/ownership.ts';
import { changeOwnLoop, type Live } from './with-own-loop.ts';

/**
 * What the user has to say to the agent at this tool call, or null. Taken out of the state under the lock before it is
 * told: of several hooks that run at once only one delivers it, once.
 */
export function deliverSteering(context: DriverContext): string | null {
  const ours = (state: Live): boolean => ownership(state, context) === 'ours' || routersOwn(state, context);
  const deliver = (state: Live, policy: Policy) => {
    const due = state.steering.filter(({ delivery }) => delivery === 'now');
    const ids = due.map(({ id }) => id);
    const next = transition(state, { type: 'steering-delivered', at: context.now(), ids }, policy);
    return { state: next.state, result: { due, effects: next.effects } };
  };
  const taken = changeOwnLoop(context, deliver, ours);
  if (taken === null || taken.due.length === 0) return null;
  carryOut(context.files, context.now(), taken.effects);
  return `The user says, to be followed from now on:\n${taken.due.map(({ text }) => text).join('\n')}`;
}
