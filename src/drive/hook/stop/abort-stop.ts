import { isAlive } from '../../../state/process/identity.ts';
import { callingClient, type DriverContext, launcherGone } from '../../control/ownership.ts';
import { CLIENT_GONE } from '../../turn/turn.ts';

const POLL_MS = 2_000;

/** Aborts with CLIENT_GONE when the client exits; the client does not notify its hooks. */
export function abortWhenClientGone(controller: AbortController, context: DriverContext, parent: number): void {
  const { clientPid: pid, clientStartedAt: startedAt } = callingClient(context);
  const client = pid === null ? null : { pid, startedAt };
  const known = client !== null && isAlive(client);
  const timer = setInterval(() => {
    if ((known ? isAlive(client) : process.ppid === parent) && !launcherGone(context.env)) return;
    clearInterval(timer);
    controller.abort(CLIENT_GONE);
  }, POLL_MS);
  timer.unref();
}
