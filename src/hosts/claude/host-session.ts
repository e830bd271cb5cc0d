import { dirname, join } from 'node:path';
import { type ClientIdentity, needsMessage } from '../../engine/initial-state.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { readRecord } from '../../state/files/regular-file.ts';
import { ancestors, environmentOf, sessionLeader } from '../../state/process/ancestors.ts';
import { identityOf, isAlive } from '../../state/process/identity.ts';
import { countOf, type Fields } from '../fields.ts';

/** Prefix of the ids of sessions outside every client; a client's are UUIDs. */
export const OUTSIDE = 'terminal-';

/** Client from whose shell this process was called, or its substitute. */
export interface HostSession extends ClientIdentity {
  /** False for a person's terminal or a script outside every client. */
  readonly client: boolean;
}

/** Identifies the calling client, or the terminal's session. `clientPid` is null if a sandbox hides the process. */
export function hostSession(env: NodeJS.ProcessEnv): HostSession {
  const sessionId = env['CLAUDE_CODE_SESSION_ID'];
  if (!sessionId) {
    const leader = sessionLeader();
    return { ...processOf(leader), sessionId: `${OUTSIDE}${leader}`, client: false };
  }
  const pid = Number(env['CLAUDE_PID']);
  // A process that is not an ancestor of this one may be unrelated, because of another process namespace.
  const above = ancestors();
  const seen = pid === process.pid || (above.length === 0 ? process.platform !== 'linux' : above.includes(pid));
  const known = Number.isInteger(pid) && pid > 0 && seen;
  return { ...processOf(known ? pid : null), sessionId, client: true };
}

/** What the client waits for when only one of its menus is open, as by `/config`; the agent works on. */
const MENU = 'dialog open';
/** How long a client has been idle when no turn is about to begin; it records a new one late. */
const AT_REST_MS = 15_000;

/** Returns what a loop's client needs from its user, by its own record (measured): after `/plan` it gives the agent no turn. */
export function awaitedOfUser(state: LoopState): 'dialog' | 'message' | null {
  const { mode, status, turn, clientPid, sessionId, marks } = state;
  if (needsMessage(state)) return 'message';
  const isLive = mode === 'hook' && (status === 'running' || status === 'waiting');
  if (!isLive || clientPid === null || marks.transcriptPath === null) return null;
  const sessions = join(dirname(marks.transcriptPath), '..', '..', 'sessions');
  const record = readRecord<Fields>(join(sessions, `${clientPid}.json`)) ?? {};
  if (record['sessionId'] !== sessionId) return null;
  if (record['status'] === 'waiting') return record['waitingFor'] === MENU ? null : 'dialog';
  const isAtRest = record['status'] === 'idle' && Date.now() - countOf(record['statusUpdatedAt']) > AT_REST_MS;
  return isAtRest && turn === 'user' ? 'message' : null;
}

/** Returns the environment that the client was started with; empty if the system does not provide it. */
export function clientEnvironment({ client, clientPid }: HostSession): Record<string, string> {
  const entries = client && clientPid !== null ? environmentOf(clientPid) : [];
  return Object.fromEntries(
    entries.flatMap((entry) => {
      const at = entry.indexOf('=');
      return at > 0 ? [[entry.slice(0, at), entry.slice(at + 1)]] : [];
    }),
  );
}

function processOf(pid: number | null): Pick<ClientIdentity, 'clientPid' | 'clientStartedAt'> {
  if (pid === null || !isAlive({ pid, startedAt: null })) return { clientPid: null, clientStartedAt: null };
  return { clientPid: pid, clientStartedAt: identityOf(pid).startedAt };
}
