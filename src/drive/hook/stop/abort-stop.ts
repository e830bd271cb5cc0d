import { isAlive } from '../../../state/process/identity.ts';
import { clientIdentity, type DriverContext, launcherGone } from '../../control/ownership.ts';
import { CLIENT_GONE } from '../../turn/turn.ts';

const POLL_MS = 2_000;

/** Aborts with CLIENT_GONE when the client exits; the client does not notify its hooks. */
export function abortWhenClientGone(controller: AbortController, { env, input }: DriverContext, parent: number): void {
  const { clientPid: pid, clientStartedAt: startedAt } = clientIdentity(env, input.sessionId);
  const client = pid === null ? null : { pid, startedAt };
  const known = client !== null && isAlive(client);
  const timer = setInterval(() => {
    if ((known ? isAlive(client) : process.ppid === parent) && !launcherGone(env)) return;
    clearInterval(timer);
    controller.abort(CLIENT_GONE);
  }, POLL_MS);
  timer.unref();
}
