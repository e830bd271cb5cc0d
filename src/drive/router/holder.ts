import { join } from 'node:path';
import { bindSession } from '../../engine/initial-state.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { HostSession } from '../../hosts/claude/host-session.ts';
import { awaitHold, clearHold } from '../../state/lock/hold.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { clientAlive } from '../control/ownership.ts';

/** Holder as seen from a host. `free`: none, or its client has exited. `unseen`: its client is not visible from here. */
export type Hold = 'mine' | 'free' | 'theirs' | 'unseen';

export function holdOf(state: LoopState, host: HostSession): Hold {
  if (state.sessionId === null) return 'free';
  const sameSession = state.sessionId === host.sessionId;
  const known = state.clientPid !== null && host.clientPid !== null;
  if (known && state.clientPid === host.clientPid && state.clientStartedAt === host.clientStartedAt) return 'mine';
  if (sameSession && !known) return 'mine';
  // A host in a sandbox that cannot see its own client cannot see any other either.
  if (!known) return 'unseen';
  return clientAlive(state) ? 'theirs' : 'free';
}

/** Binds the loop to this host. A new holder has a new epoch, which fences off writes of the old one. */
export function withHolder(state: LoopState, host: HostSession, hold: 'mine' | 'free'): LoopState {
  const epoch = hold === 'free' ? state.epoch + 1 : state.epoch;
  // A process that is not visible from here keeps its recorded identity.
  const { clientPid, clientStartedAt } = state;
  const seen = host.clientPid === null && hold === 'mine' ? { ...host, clientPid, clientStartedAt } : host;
  return { ...bindSession(state, seen), epoch };
}

/** Takes the lock that serialises the calls of holder `epoch`. Returns its release, or null if busy at `until`. Rejects on abort. */
export async function takeBusyLock(
  files: LoopFiles,
  epoch: number,
  until: number,
  signal: AbortSignal,
): Promise<(() => void) | null> {
  const pathOf = (of: number): string =>
    join(files.outsideDir, `router${files.name === null ? '' : `.${files.name}`}.at-work.${of}`);
  clearHold(pathOf(epoch - 1));
  const hold = await awaitHold(pathOf(epoch), until - Date.now(), signal);
  return hold?.release ?? null;
}
