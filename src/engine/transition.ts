import type { EngineEvent, EventOf } from './events.ts';
import { apiErrorText, budgetText, CHECKS_CUT, sharedBudgetText, sleptText } from './messages.ts';
import { afterStop, isWaited, onThisClock, stoppedFor, stoppedSince } from './policy/budget.ts';
import type { Policy } from './schema/contract.ts';
import type { LiveState, LoopState } from './schema/state.ts';
import { end, event, pause, recordPause, running, type Transition, withChecklist } from './transitions/build.ts';
import { timePassed } from './transitions/check-limits.ts';
import { decideNext, iterationEnded } from './transitions/iteration-ended.ts';
import { operator } from './transitions/operator.ts';
import { planRead, planTurnEnded } from './transitions/plan-events.ts';
import {
  firstPrompt,
  interrupted,
  noticed,
  overridden,
  promptMade,
  released,
  steeringDelivered,
  suspended,
  userPrompt,
  waitedOut,
} from './transitions/suspend.ts';
import { verified } from './transitions/verified.ts';

export type { Transition } from './transitions/build.ts';

type Handler<T extends EngineEvent['type']> = (state: LiveState, happened: EventOf<T>, policy: Policy) => Transition;

const failed = (state: LiveState, { at, message }: EventOf<'task-missing' | 'agent-failed'>): Transition =>
  end(state, at, 'error', message);

const HANDLERS: { readonly [T in EngineEvent['type']]: Handler<T> } = {
  'iteration-ended': (state, ended, policy) =>
    policy.plan ? planTurnEnded(state, ended, policy) : iterationEnded(state, withChecklist(ended), policy),
  verified,
  'plan-read': planRead,
  operator,
  'time-passed': timePassed,
  'user-prompt': userPrompt,
  'turn-released': released,
  'api-error': apiError,
  interrupted,
  'block-overridden': overridden,
  suspended,
  'task-missing': failed,
  'agent-failed': failed,
  'budget-reached': budgetReached,
  'shared-budget-reached': (state, { at, reading }) => end(state, at, 'budget-exhausted', sharedBudgetText(reading)),
  noticed,
  slept,
  'waited-out': waitedOut,
  'steering-delivered': steeringDelivered,
  'prompt-made': promptMade,
  'first-prompt': firstPrompt,
};

function budgetReached(state: LiveState, { at, budget, cut }: EventOf<'budget-reached'>, policy: Policy): Transition {
  // No claim was checked: the limit that had been reached before the checks ends the loop.
  const isUnclaimed = state.status === 'verifying' && state.verifying.unclaimed === true;
  if (isUnclaimed && cut === 'checks') return decideNext(running(state), at, policy, null);
  return end(state, at, 'budget-exhausted', budgetText(budget, cut === undefined ? '' : CHECKS_CUT));
}

/** Returns the next state and the effects of an event. Pure and total; time comes in with the event. */
export function transition(before: LoopState, happened: EngineEvent, policy: Policy): Transition {
  if (before.status === 'ended') return endedAlready(before, happened);
  const state = onThisClock(before, happened.at);
  const next = (HANDLERS[happened.type] as Handler<EngineEvent['type']>)(state, happened, policy);
  const isWaitedOut = isWaited(state) && !isWaited(next.state) && endsWait(happened);
  return { ...next, state: afterStop(state, next.state, happened.at, isWaitedOut) };
}

/** Returns whether an event ends a pause that its driver has waited out, or the client itself, which waits for a usage limit. */
function endsWait(happened: EngineEvent): boolean {
  if (happened.type === 'user-prompt') return happened.by === 'continuation';
  return happened.type === 'operator' && happened.command.kind === 'resume' && happened.command.by === 'launcher';
}

/** Less is what remains of a sleep that another process has noticed a moment earlier. */
const ANNOUNCED_MS = 1_000;

/** Adds the time in which the machine slept, or the driver was stopped, to that which does not count. */
function slept(state: LiveState, { at, since }: EventOf<'slept'>): Transition {
  const before = isWaited(state) ? state.paused : state;
  // Another pause is left out of the loop's time as a whole.
  if (before === state && stoppedSince(state) !== null) return { state, effects: [] };
  const { stoppedMs = 0 } = stoppedFor(before, since, at);
  const addedMs = stoppedMs - (before.stoppedMs ?? 0);
  if (addedMs === 0) return { state, effects: [] };
  const time = { stoppedMs, stoppedUntil: at };
  const next: LiveState = isWaited(state) ? { ...state, paused: { ...state.paused, ...time } } : { ...state, ...time };
  return {
    state: next,
    effects: addedMs < ANNOUNCED_MS ? [] : [event(next, at, 'slept', { since, message: sleptText(addedMs) })],
  };
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
export function apiError(state: LiveState, happened: EventOf<'api-error'>): Transition {
  if (state.status === 'paused' || state.status === 'awaiting-consent') return { state, effects: [] };
  const { error, at } = happened;
  const reason = error.kind === 'rate-limited' ? 'rate-limited' : 'api-error';
  const next = pause(state, at, reason, apiErrorText(error, state.mode), error.resetsAt);
  return recordPause({ ...next, turn: 'rest' }, 'notify', { error: error.kind, resetsAt: error.resetsAt });
}
