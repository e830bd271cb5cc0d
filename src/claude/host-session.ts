import type { ClientIdentity } from '../engine/resume-state.ts';
import { ancestors, environmentOf, parentOf, sessionLeader } from '../state/process/ancestors.ts';
import { identityOf, isAlive } from '../state/process/identity.ts';

/** So begin the ids of sessions outside every client; a client's are UUIDs. */
const OUTSIDE = 'terminal-';

/** The client from whose shell this process was called, or what stands for one. */
export interface HostSession extends ClientIdentity {
  /** The client itself names its process: another session of that process is the same client, after `/clear`. */
  readonly named: boolean;
  /** false for a person's terminal or a script outside every client. */
  readonly client: boolean;
}

/**
 * Who is calling. In the shell of a client its session and process; where that process cannot be seen from here (a
 * sandbox has process numbers of its own) `clientPid` is null. Outside every client the session is the terminal's, by
 * the process that began it.
 */
export function hostSession(env: NodeJS.ProcessEnv): HostSession {
  const sessionId = env['CLAUDE_CODE_SESSION_ID'];
  if (!sessionId) {
    const leader = sessionLeader();
    return { ...processOf(leader), sessionId: `${OUTSIDE}${leader}`, named: true, client: false };
  }
  const pid = Number(env['CLAUDE_PID']);
  if (Number.isInteger(pid) && pid > 0) {
    // A number that is none of our ancestors may be some other process's in this namespace.
    const above = ancestors();
    const seen = pid === process.pid || (above.length === 0 ? process.platform !== 'linux' : above.includes(pid));
    return { ...processOf(seen ? pid : null), sessionId, named: true, client: true };
  }
  return { ...processOf(starterOf(sessionId)), sessionId, named: false, client: true };
}

/** Whether a session's id is one of those that stand for a terminal or a script outside every client. */
export function isOutside(sessionId: string | null): boolean {
  return sessionId?.startsWith(OUTSIDE) === true;
}

/** The environment that the client itself was started with; empty where the system does not tell. */
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

/** The process that gave the session's name to the shell that called us: the parent of the last one which has it. */
function starterOf(sessionId: string): number | null {
  const wanted = `CLAUDE_CODE_SESSION_ID=${sessionId}`;
  let last = process.pid;
  for (const pid of ancestors()) {
    if (!environmentOf(pid).includes(wanted)) break;
    last = pid;
  }
  const starter = parentOf(last);
  return starter > 1 ? starter : null;
}
