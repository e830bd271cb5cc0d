import type { ClientIdentity } from '../../engine/initial-state.ts';
import { ancestors, environmentOf, sessionLeader } from '../../state/process/ancestors.ts';
import { identityOf, isAlive } from '../../state/process/identity.ts';

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

/** Returns the environment with which the client was started; empty if the system does not provide it. */
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
