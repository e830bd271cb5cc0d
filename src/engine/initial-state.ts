import type { ChecklistCount } from '../text/markdown/lists.ts';
import { tokens } from './events.ts';
import { CLOSED_BREAKER } from './policy/breaker.ts';
import { NOT_IDLE, stoppedFor, stoppedSince } from './policy/loop-time.ts';
import { SCHEMA_VERSION } from './schema/constants.ts';
import type { FourKeyState, LoopState, StateOf } from './schema/state.ts';
import { NO_NOTICES, running } from './transitions/build.ts';
import { requeueInFlight } from './transitions/delivery.ts';

/** No transcript has been read. */
const UNREAD = { transcriptPath: null, transcriptBytes: 0, subagentBytes: {}, lastMessageIds: [] };

interface NewLoop
  extends Readonly<Pick<LoopState, 'loopId' | 'name' | 'mode' | 'taskPath' | 'contractHash' | 'maxIterations'>> {
  readonly at: string;
  readonly consented: boolean;
  /** Checklist of the task at the start, if it has one. */
  readonly checklist?: ChecklistCount | null;
  /** Program as the user calls it, for commands in messages. */
  readonly program?: string;
}

/** Returns the state of a new loop, with no finished iteration and no session. */
export function initialState(loop: NewLoop): StateOf<'running'> | StateOf<'awaiting-consent'> {
  const { at, loopId, name, mode, taskPath, contractHash, maxIterations } = loop;
  return {
    iteration: 0,
    startedAt: at,
    lastRunAt: at,
    lastFindingsCount: null,
    schemaVersion: SCHEMA_VERSION,
    loopId,
    name,
    status: loop.consented ? 'running' : 'awaiting-consent',
    mode,
    epoch: 0,
    taskPath,
    contractHash,
    sessionId: null,
    clientPid: null,
    clientStartedAt: null,
    maxIterations,
    idleIterations: 0,
    breaker: CLOSED_BREAKER,
    idle: NOT_IDLE,
    usage: { ...tokens(() => 0), costUsd: null, costBaseUsd: null },
    marks: { ...UNREAD, callsBytes: 0 },
    lastDecision: { at, kind: 'started', detail: '' },
    lastTurn: null,
    inFlight: null,
    turn: 'first',
    promptId: null,
    stopRequested: false,
    steering: [],
    notices: NO_NOTICES,
    gateFailures: { value: null, repeats: 0 },
    warnedBudgets: [],
    announced: [],
    waitedOut: [],
    projectMark: null,
    ...(loop.program !== undefined && { program: loop.program }),
    ...(loop.checklist && { checklist: loop.checklist }),
  };
}

/** Returns the loop of a four-key file: in a session, with default counters and without a contract. */
export function adoptFourKeys(
  file: FourKeyState,
  { name, taskPath, maxIterations }: Pick<NewLoop, 'name' | 'taskPath' | 'maxIterations'>,
): LoopState {
  const at = file.startedAt;
  const known = { name, taskPath, maxIterations, mode: 'hook', consented: true, contractHash: null } as const;
  const fresh = initialState({ ...known, at, loopId: `four-keys-${at}` });
  const findings = typeof file.lastFindingsCount === 'number' ? file.lastFindingsCount : null;
  return {
    ...fresh,
    iteration: file.iteration,
    lastRunAt: file.lastRunAt,
    lastFindingsCount: findings,
    breaker:
      findings === null ? fresh.breaker : { ...fresh.breaker, findings: { value: String(findings), repeats: 0 } },
    lastDecision: { at: file.lastRunAt, kind: 'started', detail: 'adopted' },
    turn: 'agent',
  };
}

/**
 * Resumes a state: keeps counters, usage and notices, closes the breaker. A new epoch fences off the old holder. The time since
 * its end, its pause or the last sign of its driver (`lastSeen`) does not count.
 */
export function resumeState(state: LoopState, at: string, consented: boolean, lastSeen = state.lastRunAt): LoopState {
  const before = stoppedFor(requeueInFlight(state), stoppedSince(state) ?? lastSeen, at);
  return {
    ...(consented ? running(before) : { ...running(before), status: 'awaiting-consent' as const }),
    epoch: state.epoch + 1,
    sessionId: null,
    clientPid: null,
    clientStartedAt: null,
    breaker: CLOSED_BREAKER,
    gateFailures: { value: null, repeats: 0 },
    idle: NOT_IDLE,
    stopRequested: false,
    stopFlag: false,
    pauseRequested: false,
    ...(state.limits && { limits: [] }),
    turn: 'first',
    lastTurn: null,
    inFlight: null,
    promptId: null,
    announced: [],
    waitedOut: [],
    usage: {
      ...state.usage,
      costBaseUsd: null,
      ...(state.usage.unpricedRuns && { unpricedAccepted: state.usage.unpricedRuns }),
    },
    marks: { ...state.marks, ...UNREAD },
    lastDecision: { at, kind: 'started', detail: 'resumed' },
  };
}

/** Returns whether a loop of a session, which works on it or is its host, still waits for that session to join it. */
export function isUnjoined({ mode, sessionId }: Pick<LoopState, 'mode' | 'sessionId'>): boolean {
  return mode !== 'runner' && sessionId === null;
}

/** Returns whether the agent of a session still works on the turn in which the user paused the loop. */
export function isFinishing(state: LoopState): boolean {
  if (state.status !== 'paused' || state.paused.reason !== 'operator') return false;
  const { since } = state.paused;
  // A pause outside a turn is itself the last decision.
  return state.mode === 'hook' && state.turn === 'agent' && (state.lastDecision?.at ?? since) !== since;
}

/** Returns whether a loop continues only after a message of the user in its session, as after `resume` and `/clear`. */
export function needsMessage({ mode, status, turn, sessionId }: LoopState): boolean {
  return mode === 'hook' && status === 'running' && turn === 'rest' && sessionId !== null;
}

export interface ClientIdentity {
  readonly sessionId: string;
  readonly clientPid: number | null;
  readonly clientStartedAt: string | null;
}

/** Binds the loop to a client's session. Marks in another transcript no longer apply, nor does what its cost counts from. */
export function bindSession<S extends LoopState>(state: S, client: ClientIdentity, base: number | null = null): S {
  const sameSession = state.sessionId === client.sessionId;
  // A process id alone proves nothing: it may have been reused.
  const sameClient = state.clientPid === client.clientPid && state.clientStartedAt === client.clientStartedAt;
  if (sameSession && sameClient) return state;
  return {
    ...state,
    sessionId: client.sessionId,
    clientPid: client.clientPid,
    clientStartedAt: client.clientStartedAt,
    marks: sameSession ? state.marks : { ...state.marks, ...UNREAD },
    // A new session counts its cost from zero, after /clear too; a client that resumed an old one continues its figure.
    usage: sameSession ? state.usage : { ...state.usage, costBaseUsd: base },
  };
}
