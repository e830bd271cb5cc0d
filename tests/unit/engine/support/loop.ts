import type { Effect, EngineEvent, OperatorCommand } from '../../../../src/engine/events.ts';
import { initialState } from '../../../../src/engine/initial-state.ts';
import type { Policy } from '../../../../src/engine/schema/contract.ts';
import type { LoopState, StateOf } from '../../../../src/engine/schema/state.ts';
import { transition } from '../../../../src/engine/transition.ts';

type Of<T extends EngineEvent['type']> = Extract<EngineEvent, { type: T }>;
type Change<T> = Partial<Omit<T, 'type'>>;

export const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
export const IDLE = '<!-- ralph:state idle -->';

/** The instant so many seconds after the loop's start. */
export function at(seconds: number): string {
  return new Date(Date.UTC(2026, 1, 28, 10) + seconds * 1000).toISOString();
}

export const IDLE_POLICY: NonNullable<Policy['idle']> = {
  delayMs: 30_000,
  backoff: 2,
  maxDelayMs: 300_000,
  maxMs: 3_600_000,
  wake: 'time',
  watch: [],
  maxQuietMs: null,
};

/** The documented defaults, every breaker signal off, so that a test switches on what it is about. */
export function policy(change: Partial<Policy> = {}): Policy {
  return {
    completion: { kind: 'signal', text: SIGNAL },
    signalMatch: 'line',
    maxIterations: 25,
    reinject: 'auto',
    idle: null,
    breaker: { findings: 0, noProgress: 0, sameReply: 0, sameError: 0, denials: 0, tdd: 0 },
    budget: { maxCostUsd: null, maxTokens: null, maxTimeMs: null, warnAt: 0.8 },
    backgroundWaitMs: 1_800_000,
    pace: { delayMs: 0, iterationTimeoutMs: null, stopOnError: false, tracksProgress: false },
    ...change,
  };
}

/** A loop in the middle of its agent's first turn. */
export function running(change: Partial<Omit<StateOf<'running'>, 'status'>> = {}): StateOf<'running'> {
  const state = initialState({
    loopId: 'loop-1',
    name: null,
    mode: 'hook',
    taskPath: '.claude/ralph/PROMPT.md',
    contractHash: null,
    maxIterations: 25,
    at: at(0),
    consented: true,
  });
  return { ...state, status: 'running', turn: 'agent', ...change };
}

export function waiting(part: Partial<StateOf<'waiting'>['waiting']> = {}, change: Partial<LoopState> = {}): LoopState {
  return {
    ...running(),
    idle: { since: at(0), consecutive: 1, lastCallAt: at(0) },
    ...change,
    status: 'waiting',
    waiting: { since: at(0), until: at(30), delayMs: 30_000, last: false, woken: false, seen: null, ...part },
  } as LoopState;
}

export function verifying(change: Partial<LoopState> = {}): LoopState {
  return { ...running(), iteration: 1, ...change, status: 'verifying', verifying: { since: at(1) } } as LoopState;
}

export function paused(
  reason: StateOf<'paused'>['paused']['reason'] = 'operator',
  change: Partial<LoopState> = {},
  resumesAt: string | null = null,
): LoopState {
  return {
    ...running(),
    ...change,
    status: 'paused',
    paused: { since: at(1), reason, message: 'paused for a test', resumesAt },
  } as LoopState;
}

export function awaitingConsent(change: Partial<LoopState> = {}): LoopState {
  return { ...running(), ...change, status: 'awaiting-consent' } as LoopState;
}

export function ended(change: Partial<LoopState> = {}): LoopState {
  return {
    ...running(),
    ...change,
    status: 'ended',
    ended: { at: at(1), as: 'complete', message: 'Complete after 3 iterations.', verified: true },
  } as LoopState;
}

let deliveries = 0;

/** A turn that ended; each one a delivery of its own unless it is told otherwise. */
export function turnEnded(text: string, change: Change<Of<'iteration-ended'>> = {}): Of<'iteration-ended'> {
  deliveries++;
  return {
    type: 'iteration-ended',
    at: at(60),
    text,
    promptId: null,
    origin: 'loop',
    transcriptMark: String(deliveries),
    toolCalls: 1,
    deniedCalls: 0,
    usage: null,
    costUsd: null,
    progress: 'unknown',
    projectMark: null,
    error: null,
    timedOut: false,
    failedShellCalls: 0,
    scenario: null,
    seen: null,
    ...change,
  };
}

export function timePassed(
  cause: Of<'time-passed'>['cause'],
  seconds: number,
  seen: string | null = null,
): EngineEvent {
  return { type: 'time-passed', at: at(seconds), cause, seen };
}

export function command(given: OperatorCommand, seconds = 5): EngineEvent {
  return { type: 'operator', at: at(seconds), command: given };
}

/** What a driver has to do next: the one effect that answers the event, or null when there is nothing to answer. */
export function step(effects: readonly Effect[]): Extract<Effect, { type: Step }> | null {
  const steps = effects.filter((effect): effect is Extract<Effect, { type: Step }> => STEPS.has(effect.type));
  if (steps.length > 1) throw new Error(`more than one answer: ${steps.map(({ type }) => type).join(', ')}`);
  return steps[0] ?? null;
}

type Step = 'prompt' | 'allow' | 'wait' | 'look' | 'verify' | 'ignore';
const STEPS: ReadonlySet<string> = new Set<Step>(['prompt', 'allow', 'wait', 'look', 'verify', 'ignore']);

/** The events that were recorded, by name. */
export function recorded(effects: readonly Effect[]): string[] {
  return effects.flatMap((effect) => (effect.type === 'record-event' ? [effect.event.type] : []));
}

/** The first effect of a type; throws where there is none. */
export function effect<T extends Effect['type']>(effects: readonly Effect[], type: T): Extract<Effect, { type: T }> {
  const found = effects.find((one): one is Extract<Effect, { type: T }> => one.type === type);
  if (found === undefined) throw new Error(`no ${type} among ${effects.map((one) => one.type).join(', ')}`);
  return found;
}

/** The recorded event of a name, with everything it says. */
export function saying(effects: readonly Effect[], name: string): Record<string, unknown> {
  for (const one of effects) if (one.type === 'record-event' && one.event.type === name) return { ...one.event };
  throw new Error(`no event ${name} among ${recorded(effects).join(', ')}`);
}

/** The state after these events, one after the other, with the effects of the last. */
export function after(
  state: LoopState,
  given: Policy,
  ...events: readonly EngineEvent[]
): ReturnType<typeof transition> {
  let reached: ReturnType<typeof transition> = { state, effects: [] };
  for (const event of events) reached = transition(reached.state, event, given);
  return reached;
}
