import { CLOSED_BREAKER } from './policy/breaker.ts';
import { NOT_IDLE } from './policy/idle.ts';
import type { LoopState } from './schema/state.ts';
import { running } from './transitions/build.ts';
import { takenBack } from './transitions/delivery.ts';

const UNREAD = { transcriptPath: null, transcriptBytes: 0, subagentBytes: {}, lastMessageIds: [] };

/** Keeps counters, usage and notices and closes the breaker. The new epoch fences off an earlier holder. */
export function resumeState(state: LoopState, at: string, consented: boolean): LoopState {
  const before = takenBack(state);
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
    handedOver: null,
    promptId: null,
    told: [],
    waitedOut: [],
    usage: {
      ...{ ...state.usage, costBaseUsd: null },
      ...(state.usage.unpricedRuns && { unpricedAccepted: state.usage.unpricedRuns }),
    },
    marks: { ...state.marks, ...UNREAD },
    lastDecision: { at, kind: 'started', detail: 'resumed' },
  };
}

export interface ClientIdentity {
  readonly sessionId: string;
  readonly clientPid: number | null;
  readonly clientStartedAt: string | null;
}

/** The loop bound to a client's session. What was read of another transcript counts no more. */
export function bindSession<S extends LoopState>(state: S, client: ClientIdentity): S {
  const sameSession = state.sessionId === client.sessionId;
  // A process id alone is no proof: it may be a new process under the number of a dead one.
  const sameClient = state.clientPid === client.clientPid && state.clientStartedAt === client.clientStartedAt;
  if (sameSession && sameClient) return state;
  return {
    ...state,
    sessionId: client.sessionId,
    clientPid: client.clientPid,
    clientStartedAt: client.clientStartedAt,
    marks: sameSession ? state.marks : { ...state.marks, ...UNREAD },
    // A new client counts its cost from zero; one that resumed the old session continues its figure.
    usage: sameSession || sameClient ? state.usage : { ...state.usage, costBaseUsd: null },
  };
}
