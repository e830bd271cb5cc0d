import type { EventOf, OperatorCommand } from '../events.ts';
import { acceptedText, cancelledText, PAUSED_BY_USER, stoppedText } from '../messages.ts';
import { CLOSED_BREAKER } from '../policy/breaker.ts';
import { isWaited } from '../policy/budget.ts';
import type { LiveState, LoopState } from '../schema/state.ts';
import { end, event, pause, running, type Transition } from './build.ts';

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

export function operator(state: LiveState, { at, command }: EventOf<'operator'>): Transition {
  return (COMMANDS[command.kind] as Command<Kind>)(state, at, command);
}

/** Stops the loop: a working agent finishes its iteration first; otherwise the loop ends now. */
function stop(
  state: LiveState,
  at: string,
  { clientAlive, flag }: Extract<OperatorCommand, { kind: 'stop' }>,
): Transition {
  const atWork = clientAlive && (state.status === 'verifying' || state.status === 'running') && state.turn !== 'rest';
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
  // Without its evidence a loop cannot continue.
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
