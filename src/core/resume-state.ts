import { CLOSED_BREAKER } from './breaker/breaker.ts';
import { NOT_IDLE } from './idle.ts';
import type { LoopState } from './schema/state.ts';
import { running } from './transitions/common.ts';
import { takenBack } from './transitions/small.ts';

/**
 * The loop as it goes on in a new client: counters, usage and notices kept; breaker closed; no session bound; whatever
 * was asked of the old client forgotten. Whoever resumes it agrees to it, or cannot (`consented` false): then it awaits
 * the user's consent, whatever it was. The epoch moves on, so that a holder from before can no longer write.
 */
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
    turn: 'first',
    lastTurn: null,
    handedOver: null,
    promptId: null,
    told: [],
    waitedOut: [],
    usage: { ...state.usage, costBaseUsd: null },
    marks: { ...state.marks, transcriptPath: null, transcriptBytes: 0, subagentBytes: {}, lastMessageIds: [] },
    lastDecision: { at, kind: 'started', detail: 'resumed' },
  };
}
