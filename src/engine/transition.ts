import type { EngineEvent, EventOf } from './events.ts';
import { apiErrorText, sharedBudgetText } from './messages.ts';
import type { Policy } from './schema/policy.ts';
import type { LiveState, LoopState } from './schema/state.ts';
import { end, event, pause, type Transition } from './transitions/build.ts';
import { withChecklist } from './transitions/checklist.ts';
import { firstPrompt, overridden, promptMade, released, steeringDelivered } from './transitions/delivery.ts';
import { iterationEnded } from './transitions/iteration-ended.ts';
import { operator } from './transitions/operator.ts';
import { planRead, planTurnEnded } from './transitions/plan-events.ts';
import { interrupted, noticed, suspended, waitedOut } from './transitions/suspend.ts';
import { timePassed } from './transitions/time-passed.ts';
import { userPrompt } from './transitions/user-prompt.ts';
import { verified } from './transitions/verified.ts';

export type { Transition } from './transitions/build.ts';

/** Returns the next state and the effects of an event. Pure and total; time comes in with the event. */
export function transition(state: LoopState, happened: EngineEvent, policy: Policy): Transition {
  if (state.status === 'ended') return endedAlready(state, happened);
  switch (happened.type) {
    case 'iteration-ended':
      return policy.plan
        ? planTurnEnded(state, happened, policy)
        : iterationEnded(state, withChecklist(state, happened), policy);
    case 'verified':
      return verified(state, happened, policy);
    case 'plan-read':
      return planRead(state, happened, policy);
    case 'operator':
      return operator(state, happened);
    case 'time-passed':
      return timePassed(state, happened, policy);
    case 'user-prompt':
      return userPrompt(state, happened);
    case 'turn-released':
      return released(state, happened);
    case 'api-error':
      return apiError(state, happened);
    case 'interrupted':
      return interrupted(state, happened);
    case 'block-overridden':
      return overridden(state, happened);
    case 'suspended':
      return suspended(state, happened);
    case 'task-missing':
    case 'agent-failed':
      return end(state, happened.at, 'error', happened.message);
    case 'shared-budget-reached':
      return end(state, happened.at, 'budget-exhausted', sharedBudgetText(happened.reading));
    case 'noticed':
      return noticed(state, happened);
    case 'waited-out':
      return waitedOut(state, happened);
    case 'steering-delivered':
      return steeringDelivered(state, happened);
    case 'prompt-made':
      return promptMade(state, happened, policy);
    case 'first-prompt':
      return firstPrompt(state, happened, policy);
    default:
      return happened satisfies never;
  }
}

/** Archives a loop that ended without being archived, because its process died in between. */
function endedAlready(state: Extract<LoopState, { status: 'ended' }>, happened: EngineEvent): Transition {
  const { as, message } = state.ended;
  return {
    state,
    effects: [
      event(state, happened.at, 'loop.archived-late', { status: as }),
      { type: 'archive', as, message: `${as}.` },
      { type: 'allow', message },
    ],
  };
}

/** Pauses the loop after an API error, until the rate limit resets or the user resumes. Such a turn ends without a Stop. */
function apiError(state: LiveState, happened: EventOf<'api-error'>): Transition {
  if (state.status === 'paused' || state.status === 'awaiting-consent') return { state, effects: [] };
  const { error, at } = happened;
  const limited = error.kind === 'rate-limited';
  const next = {
    ...pause(state, at, limited ? 'rate-limited' : 'api-error', apiErrorText(error), error.resetsAt),
    turn: 'rest' as const,
  };
  return {
    state: next,
    effects: [
      event(next, at, 'loop.paused', { reason: next.paused.reason, error: error.kind, resetsAt: error.resetsAt }),
      { type: 'notify', message: next.paused.message },
    ],
  };
}
