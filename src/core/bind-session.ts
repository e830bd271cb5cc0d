import type { LoopState } from './schema/state.ts';

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
    marks: sameSession
      ? state.marks
      : { ...state.marks, transcriptPath: null, transcriptBytes: 0, subagentBytes: {}, lastMessageIds: [] },
    // A new client counts its cost from zero; one that took up the old session goes on with its figure.
    usage: sameSession || sameClient ? state.usage : { ...state.usage, costBaseUsd: null },
  };
}
