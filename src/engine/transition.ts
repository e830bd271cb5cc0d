import { digest } from '../text/digest.ts';
import { render } from '../text/message.ts';
import type { CheckResult, Effect, EngineEvent, EventOf, OperatorCommand } from './events.ts';
import { isFinishing } from './initial-state.ts';
import {
  acceptedText,
  apiErrorText,
  budgetText,
  CHECKS_CUT,
  cancelledText,
  completeText,
  failureLines,
  PAUSED_BY_USER,
  reasonText,
  rejectedText,
  sharedBudgetText,
  sleptText,
  stoppedText,
  unclaimedText,
} from './messages.ts';
import { CLOSED_BREAKER, EMPTY_STREAK, nextStreak } from './policy/breaker.ts';
import { afterStop, isWaited, onThisClock, sleptFor, stoppedFor, stoppedSince } from './policy/loop-time.ts';
import { countsOf, proofOf } from './policy/proof.ts';
import type { Policy } from './schema/contract.ts';
import type { LiveState, LoopState, StateOf } from './schema/state.ts';
import type { Transition } from './transitions/build.ts';
import { end, event, headOf, overtaken, pause, recordPause, running, withChecklist } from './transitions/build.ts';
import { timePassed } from './transitions/check-limits.ts';
import {
  firstPrompt,
  noticed,
  overridden,
  promptMade,
  released,
  steeringDelivered,
  suspended,
  waitedOut,
} from './transitions/delivery.ts';
import { decideNext, iterationEnded } from './transitions/iteration-ended.ts';
import { planRead, planTurnEnded, planVerified } from './transitions/plan-events.ts';
import { interrupted, userPrompt } from './transitions/user-turn.ts';

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
  'shared-budget-reached': (state, { at, reading, more }) =>
    end(state, at, 'budget-exhausted', sharedBudgetText(reading, more)),
  noticed,
  slept,
  'waited-out': waitedOut,
  'steering-delivered': steeringDelivered,
  'prompt-made': promptMade,
  'first-prompt': firstPrompt,
};

function budgetReached(state: LiveState, { at, budget, cut }: EventOf<'budget-reached'>, policy: Policy): Transition {
  // No claim was checked: the limit reached before the checks ends the loop.
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

/** Returns whether an event ends a pause that its driver, or the client for a usage limit, has waited out. */
function endsWait(happened: EngineEvent): boolean {
  if (happened.type === 'user-prompt') return happened.by === 'continuation';
  return happened.type === 'operator' && happened.command.kind === 'resume' && happened.command.by === 'launcher';
}

/** Shorter sleeps are what remains of one that another process has noticed a moment earlier. */
const ANNOUNCED_MS = 1_000;

/** Adds the time for which the machine slept, or the driver was stopped, to the stopped time. */
function slept(state: LiveState, { at, since }: EventOf<'slept'>): Transition {
  const before = isWaited(state) ? state.paused : state;
  // Any other pause is excluded from the loop's time as a whole.
  if (before === state && stoppedSince(state) !== null) return { state, effects: [] };
  const { stoppedMs = 0, stoppedUntil } = stoppedFor(before, since, at);
  const addedMs = stoppedMs - (before.stoppedMs ?? 0);
  if (addedMs === 0) return { state, effects: [] };
  const next: LiveState = isWaited(state)
    ? { ...state, paused: { ...state.paused, stoppedMs, stoppedUntil } }
    : sleptFor(state, since, at);
  return {
    state: next,
    effects: addedMs < ANNOUNCED_MS ? [] : [event(next, at, 'slept', { since, message: sleptText(addedMs) })],
  };
}

/** Archives a loop whose process died between its end and its archiving. */
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

/** Pauses the loop after a turn that ended with an API error, not a Stop, until the limit resets or the user resumes. */
export function apiError(state: LiveState, happened: EventOf<'api-error'>): Transition {
  if (state.status === 'paused' || state.status === 'awaiting-consent')
    return unchanged(isFinishing(state) ? { ...state, turn: 'rest' } : state);
  const { error, at } = happened;
  if (state.stopRequested) return end(state, at, 'stopped', stoppedText(state));
  const reason = error.kind === 'rate-limited' ? 'rate-limited' : 'api-error';
  const next = pause(state, at, reason, apiErrorText(error, state.mode), error.resetsAt);
  return recordPause({ ...next, turn: 'rest' }, 'notify', { error: error.kind, resetsAt: error.resetsAt });
}

/** Accepts the claim after the checks ran, or rejects it with their reasons and continues. */
function verified(before: LoopState, happened: EventOf<'verified'>, policy: Policy): Transition {
  // The loop was paused or ended while the checks ran.
  if (before.status !== 'verifying') return overtaken(before);
  const checks = happened.results.map(standOf);
  const state = checks.length === 0 ? before : { ...before, checks };
  if (happened.plan) return planVerified(state, happened, happened.plan, policy);
  if (state.verifying.unclaimed) return decideNext(withUnclaimed(state, happened.results), happened.at, policy, null);
  const failed = happened.results.filter(({ outcome }) => outcome !== 'ok');
  if (failed.length === 0) {
    const facts = { results: happened.results, baseline: happened.baseline, changed: happened.changed };
    const proof = proofOf(facts);
    return end(state, happened.at, 'complete', completeText(proof, facts, state.iteration), proof);
  }
  return reject(state, happened.at, failed, policy);
}

/** Returns a result as the state keeps it: its counts and, if it failed, the first line of the reason, without secrets. */
function standOf({ name, outcome, detail, tests }: CheckResult): NonNullable<LoopState['checks']>[number] {
  const why = headOf(detail);
  return { name, outcome, ...(outcome !== 'ok' && why !== '' && { why }), ...(tests && { tests: countsOf(tests) }) };
}

/** Keeps the results of the checks for the end of a loop whose agent never claimed completion. */
function withUnclaimed(state: StateOf<'verifying'>, results: readonly CheckResult[]): StateOf<'running'> {
  const told = results.length === 0 ? [] : [unclaimedText(results.find(({ outcome }) => outcome !== 'ok'))];
  const hints = [...told, state.notices.misplacedSignal ?? []].flat();
  return { ...running(state), notices: { ...state.notices, misplacedSignal: hints.join(' ') || null } };
}

function reject(state: StateOf<'verifying'>, at: string, failed: CheckResult[], policy: Policy): Transition {
  const reasons = failed.map(reasonText);
  const gateFailures = nextStreak(
    state.gateFailures,
    failed.map(({ name, outcome }) => `${name}:${outcome}`).join(','),
  );
  const rejected: StateOf<'running'> = {
    ...running(state),
    gateFailures,
    breaker: withRefusal(state),
    notices: { ...state.notices, rejection: reasons },
  };
  const next = decideNext(rejected, at, policy, state.verifying.failure ?? null);
  const rejection = event(state, at, 'completion.rejected', { reasons });
  const message = [render(rejectedText(failed), state), ...failureLines(failed, state)].join('\n');
  const said: Effect = { type: 'notify', message };
  return {
    state: next.state,
    effects: [rejection, ...repeatedSign(gateFailures.repeats, failed), said, ...next.effects],
  };
}

/** Counts refused claims with equal results while the project is known not to have changed. */
function withRefusal({ breaker, projectMark, unknownProgress, checks }: StateOf<'verifying'>): LoopState['breaker'] {
  if (projectMark === null && unknownProgress === undefined) return breaker;
  const stands = digest(JSON.stringify([projectMark, unknownProgress, checks]));
  return { ...breaker, sameRefusal: nextStreak(breaker.sameRefusal ?? EMPTY_STREAK, stands) };
}

/** Adds a sign after the same gate has failed twice in a row. */
function repeatedSign(repeats: number, failed: readonly CheckResult[]): Effect[] {
  if (repeats !== 1) return [];
  const names = failed.map(({ name }) => name).join(', ');
  return [
    {
      type: 'add-sign',
      sign: {
        name: `Completion rejected twice: ${names}`,
        trigger: `Before claiming completion while ${names} may still fail.`,
        instruction: 'Run each failed command yourself and read its output to the end; write each missing file.',
        addedAfter: failed.map(reasonText).join('; ').slice(0, 300),
      },
    },
  ];
}

type Kind = OperatorCommand['kind'];
type Command<K extends Kind> = (
  state: LiveState,
  at: string,
  command: Extract<OperatorCommand, { kind: K }>,
) => Transition;

/** Handlers of the user's commands. All are idempotent: a repeated command changes nothing. */
const COMMANDS: { readonly [K in Kind]: Command<K> } = {
  stop,
  cancel: (state, at, { flag }) =>
    end(state, at, 'cancelled', cancelledText(state.iteration, flag === true, isAtWork(state))),
  pause: pauseNow,
  resume,
  wake,
  consent,
  steer,
  accept,
};

function operator(state: LiveState, { at, command }: EventOf<'operator'>): Transition {
  return (COMMANDS[command.kind] as Command<Kind>)(state, at, command);
}

/** Stops the loop: a working agent finishes its iteration first; otherwise the loop ends now. */
function stop(
  state: LiveState,
  at: string,
  { clientAlive, flag }: Extract<OperatorCommand, { kind: 'stop' }>,
): Transition {
  const isBusy = state.status === 'verifying' || state.status === 'running' || isFinishing(state);
  const atWork = clientAlive && isBusy && state.turn !== 'rest';
  const next: LiveState = state.stopRequested
    ? state
    : { ...state, stopRequested: true, ...(flag && { stopFlag: true }) };
  if (!atWork) return end(next, at, 'stopped', stoppedText(next));
  if (state.stopRequested) return unchanged(state);
  return { state: next, effects: [event(next, at, 'operator.stop', flag && { by: 'flag' })] };
}

/** Returns whether an agent has received the prompt of the next iteration. */
function isAtWork({ status, turn, sessionId }: LiveState): boolean {
  return status === 'running' && sessionId !== null && (turn === 'agent' || turn === 'first');
}

function pauseNow(state: LiveState, at: string): Transition {
  if (state.status === 'awaiting-consent') return unchanged(state);
  // A wait for a rate limit or a server ends by itself; a pause of the user does not.
  if (state.status === 'paused' && !isWaited(state)) return unchanged(state);
  const paused = pause(state, at, 'operator', PAUSED_BY_USER);
  // The agent's turn continues: it began with the earlier decision.
  const next = isAtWork(state) ? { ...paused, lastDecision: state.lastDecision } : paused;
  return { state: next, effects: [event(next, at, 'loop.paused', { reason: 'operator' })] };
}

function resume(
  state: LiveState,
  at: string,
  { by, renewed }: Extract<OperatorCommand, { kind: 'resume' }>,
): Transition {
  // A loop without its evidence cannot continue.
  if (state.status === 'paused' && state.paused.reason === 'evidence-lost' && !renewed) return unchanged(state);
  if (state.status !== 'paused') return unchanged(state.pauseRequested ? { ...state, pauseRequested: false } : state);
  // A user who resumes a plan has had time to edit it, so it is read again.
  const plan = state.plan && { plan: { ...state.plan, blocked: null, resumed: true } };
  const next: LoopState = {
    ...running(state),
    ...renewed,
    breaker: CLOSED_BREAKER,
    turn: by === 'launcher' ? 'first' : state.turn,
    ...plan,
    ...(state.limits && { limits: [] }),
  };
  const why = by === 'launcher' && isWaited(state) ? 'the wait is over' : 'operator';
  return { state: next, effects: [event(next, at, 'loop.resumed', { why })] };
}

function wake(state: LiveState, at: string): Transition {
  if (state.status !== 'waiting' || state.waiting.woken) return unchanged(state);
  const next: LoopState = { ...state, waiting: { ...state.waiting, woken: true } };
  return { state: next, effects: [event(next, at, 'operator.wake')] };
}

function consent(state: LiveState, at: string, { contractHash }: { readonly contractHash: string }): Transition {
  if (state.status !== 'awaiting-consent') return unchanged(state);
  const next: LoopState = { ...running(state), contractHash };
  return { state: next, effects: [event(next, at, 'operator.consent')] };
}

/** Queues a message to the agent. A waiting loop continues at once, unless the message is for the next prompt. */
function steer(state: LiveState, at: string, command: Extract<OperatorCommand, { kind: 'steer' }>): Transition {
  if (state.steering.some(({ id }) => id === command.id)) return unchanged(state);
  const { id, text, delivery } = command;
  const queued = { ...state, steering: [...state.steering, { id, at, text, delivery }] };
  const next: LoopState =
    queued.status === 'waiting' && delivery === 'now'
      ? { ...queued, waiting: { ...queued.waiting, woken: true } }
      : queued;
  return { state: next, effects: [event(next, at, 'operator.steer', { id, delivery, text })] };
}

function accept(state: LiveState, at: string, command: Extract<OperatorCommand, { kind: 'accept' }>): Transition {
  const { id, contractHash, maxIterations, checklist, changes } = command;
  const whole = checklist && { checklist };
  const known = state.steering.some((message) => message.id === id);
  const announcement = { id, at, text: acceptedText(changes), delivery: 'now', announces: 'accept' } as const;
  const steering = known ? state.steering : [...state.steering, announcement];
  const adopted: LiveState = { ...state, contractHash, maxIterations, steering, ...whole };
  const next: LoopState =
    adopted.status === 'paused' && adopted.paused.reason === 'contract-changed' ? running(adopted) : adopted;
  return { state: next, effects: [event(next, at, 'operator.accept', { contractHash })] };
}

function unchanged(state: LoopState): Transition {
  return { state, effects: [] };
}
