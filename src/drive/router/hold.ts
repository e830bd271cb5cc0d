import type { HostSession } from '../../claude/host-session.ts';
import { bindSession, type ClientIdentity } from '../../core/bind-session.ts';
import type { LoopState } from '../../core/schema/state.ts';
import { clientAlive } from '../turn/ownership.ts';

/**
 * Whose a router loop is, seen from a host. `mine`: this host's. `free`: nobody's, or its holder's client is gone.
 * `theirs`: another host's. `unseen`: another host's whose client nobody here can ask after.
 */
export type Hold = 'mine' | 'free' | 'theirs' | 'unseen';

export function holdOf(state: LoopState, host: HostSession): Hold {
  if (state.sessionId === null) return 'free';
  const sameSession = state.sessionId === host.sessionId;
  const known = state.clientPid !== null && host.clientPid !== null;
  if (known && sameClient(state, host)) return sameSession || host.named ? 'mine' : 'theirs';
  if (sameSession && !known) return 'mine';
  // A host that cannot see its own client, in a sandbox, sees nobody else's either.
  if (!known) return 'unseen';
  return clientAlive(state) ? 'theirs' : 'free';
}

/** The loop in this host's hands. A new holder has a new epoch: what an older one still does is refused. */
export function heldBy(state: LoopState, host: HostSession, hold: 'mine' | 'free'): LoopState {
  const epoch = hold === 'free' ? state.epoch + 1 : state.epoch;
  // What is seen less of from here than before is still known.
  const seen = host.clientPid === null && hold === 'mine' ? { ...host, ...processIn(state) } : host;
  return { ...bindSession(state, seen), epoch };
}

function processIn({ clientPid, clientStartedAt }: LoopState): Pick<ClientIdentity, 'clientPid' | 'clientStartedAt'> {
  return { clientPid, clientStartedAt };
}

function sameClient(state: LoopState, { clientPid, clientStartedAt }: ClientIdentity): boolean {
  return state.clientPid === clientPid && state.clientStartedAt === clientStartedAt;
}
