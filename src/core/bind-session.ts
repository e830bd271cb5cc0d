import type { LoopState } from './schema/state.ts';

export interface ClientIdentity {
  readonly sessionId: string;
  readonly clientPid: number | null;
  readonly clientStartedAt: string | null;
}

/** The loop bound to a client's session. What was read of another transcript counts no more. */
export function bindSession<S extends LoopState>(state: S, client: ClientIdentity): S {
  if (state.sessionId === client.sessionId && state.clientPid === client.clientPid) return state;
  return {
    ...state,
    sessionId: client.sessionId,
    clientPid: client.clientPid,
    clientStartedAt: client.clientStartedAt,
    marks:
      state.sessionId === client.sessionId
        ? state.marks
        : { ...state.marks, transcriptPath: null, transcriptBytes: 0, subagentBytes: {}, lastMessageIds: [] },
  };
}
