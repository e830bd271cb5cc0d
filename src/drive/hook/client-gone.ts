import { isAlive } from '../../state/process-identity.ts';
import type { DriverContext } from '../turn/context.ts';
import { clientIdentity } from '../turn/ownership.ts';
import { CLIENT_GONE } from '../turn/turn.ts';

const LOOK_MS = 2_000;

/**
 * Aborted with CLIENT_GONE when the client that runs this hook is gone: killed, it tells its hooks nothing, and one that
 * sleeps would sleep on for hours, for nobody.
 */
export function clientGone(context: DriverContext): AbortSignal {
  const controller = new AbortController();
  const { clientPid: pid, clientStartedAt: startedAt } = clientIdentity(context);
  const client = pid === null ? null : { pid, startedAt };
  const known = client !== null && isAlive(client);
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (known ? isAlive(client) : process.ppid === parent) return;
    clearInterval(timer);
    controller.abort(CLIENT_GONE);
  }, LOOK_MS);
  timer.unref();
  return controller.signal;
}
