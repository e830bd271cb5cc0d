import { type Message, render } from '../../text/message.ts';
import { firstLine } from '../../text/quote.ts';
import { redact } from '../../text/redact/redact.ts';
import type { Effect, EventOf } from '../events.ts';
import { isFinished } from '../identity/items.ts';
import type { Proof } from '../schema/proof.ts';
import type { LoopEvent } from '../schema/records.ts';
import type { CommonState, LoopState, StateOf, TerminalStatus } from '../schema/state.ts';

export interface Transition {
  readonly state: LoopState;
  readonly effects: readonly Effect[];
}

type AnyStatus = CommonState & Partial<Record<'waiting' | 'verifying' | 'paused' | 'ended', unknown>>;

/** Returns the fields that every status has, without those of the status being left. */
export function common(state: LoopState): CommonState {
  const { status: _status, ...rest } = state;
  const { waiting: _waiting, verifying: _verifying, paused: _paused, ended: _ended, ...kept } = rest as AnyStatus;
  return kept;
}

export function running(state: LoopState): StateOf<'running'> {
  return { ...common(state), status: 'running' };
}

export function event(state: LoopState, at: string, type: string, more: Record<string, unknown> = {}): Effect {
  const entry: LoopEvent = { type, at, loopId: state.loopId, iteration: state.iteration, ...more };
  return { type: 'record-event', event: entry };
}

/** Ends the loop: the state records how and why, and the driver archives it. `proof` is that of a completion. */
export function end(
  state: LoopState,
  at: string,
  as: TerminalStatus,
  why: Message | string,
  proof: Proof | null = null,
  text = typeof why === 'string' ? why : why.text,
): Transition {
  const message = render(why, state);
  const next = nextCommand(why);
  const verified = proof !== null && proof !== 'none';
  const proved = proof === null ? {} : { proof };
  const ended: LoopState = {
    ...common(state),
    status: 'ended',
    ended: { at, as, message, verified, ...proved, ...(text !== message && { text }), ...(next && { next }) },
    lastDecision: { at, kind: 'allow', detail: as },
  };
  return {
    state: ended,
    effects: [
      event(ended, at, 'loop.ended', { status: as, message, verified, ...proved }),
      { type: 'archive', as, message: text },
      { type: 'allow', message },
    ],
  };
}

/** Returns the command in a message that continues the work, so that report and explanation name the same one. */
function nextCommand(why: Message | string): StateOf<'ended'>['ended']['next'] {
  const advice = typeof why === 'string' ? [] : (why.advice ?? []);
  const found = advice.find(({ command }) => ['start', 'restart', 'resume', 'run --resume'].includes(command));
  return found && { command: found.command, ...(found.options && { options: found.options }) };
}

export const NO_NOTICES: LoopState['notices'] = { rejection: [], misplacedSignal: null, warnings: [] };

/** Puts everything undelivered in flight, until the agent's turn ends. */
export function putInFlight({ notices, steering }: LoopState): Pick<LoopState, 'inFlight' | 'notices' | 'steering'> {
  return { inFlight: { notices, steering }, notices: NO_NOTICES, steering: [] };
}

/** Sends the task again with the notices and the steering, which stay in flight until the agent's turn ends. */
export function prompt(state: LoopState, at: string, detail: string): Transition {
  const next: LoopState = {
    ...running(state),
    turn: 'agent',
    ...putInFlight(state),
    lastDecision: { at, kind: 'prompt', detail },
  };
  return { state: next, effects: [{ type: 'prompt', notices: state.notices, steering: state.steering }] };
}

export function pause(
  state: LoopState,
  at: string,
  reason: StateOf<'paused'>['paused']['reason'],
  why: Message | string,
  resumesAt: string | null = null,
): StateOf<'paused'> {
  const text = typeof why === 'string' ? why : why.text;
  return {
    ...common(state),
    status: 'paused',
    paused: { since: at, reason, message: render(why, state), text, resumesAt },
    lastDecision: { at, kind: 'allow', detail: `paused: ${reason}` },
  };
}

/** Records the pause and tells the user the reason, at the end of a turn (`allow`) or within one (`notify`). */
export function recordPause(
  state: StateOf<'paused'>,
  type: 'allow' | 'notify',
  more: Record<string, unknown> = {},
): Transition {
  const { since, reason, message } = state.paused;
  return { state, effects: [event(state, since, 'loop.paused', { reason, ...more }), { type, message }] };
}

/** Returns the pause's message for the user; null if it was already shown. */
export function tellPause(state: StateOf<'paused'>): { state: StateOf<'paused'>; message: string | null } {
  const key = `paused ${state.paused.since}`;
  if (state.announced.includes(key)) return { state, message: null };
  return { state: { ...state, announced: [...state.announced, key] }, message: state.paused.message };
}

export function releasePaused(paused: StateOf<'paused'>): Transition {
  const { state, message } = tellPause(paused);
  return release(state, message);
}

/** Lets the turn end while the loop stays live; `next` says whose message the next turn answers. */
export function release(state: LoopState, message: string | null, next: 'rest' | 'user' = 'rest'): Transition {
  return { state: state.turn === next ? state : { ...state, turn: next }, effects: [{ type: 'allow', message }] };
}

/** Ends the turn of a driver whose loop was paused, stopped or replaced while it worked. */
export function overtaken(state: LoopState): Transition {
  if (state.status === 'paused') return releasePaused(state);
  return { state, effects: [{ type: 'allow', message: null }] };
}

const REASON_LIMIT = 400;

/** Returns the first line of a reason, without secrets. */
export function headOf(reason: string): string {
  return redact(firstLine(reason)).slice(0, REASON_LIMIT);
}

/** Returns the event with the completion claim that a finished checklist makes. */
export function withChecklist(ended: EventOf<'iteration-ended'>): EventOf<'iteration-ended'> {
  return ended.checklist && isFinished(ended.checklist) ? { ...ended, taskDone: true } : ended;
}
