import type { LoopState } from '../../../engine/schema/state.ts';
import type { HookAnswer } from '../../../hosts/hook-io/stdio.ts';
import type { StoredContract } from '../../../state/loop-files.ts';
import { isAlive } from '../../../state/process/identity.ts';
import { applyFlagFiles } from '../../control/operate.ts';
import type { DriverContext } from '../../control/ownership.ts';
import { clearCancellation, clientIdentity, launcherGone, ownership } from '../../control/ownership.ts';
import { countedBy, projectionOf } from '../../records/status-projection.ts';
import { HOOK_TEXTS, withPrefix } from '../../turn/messages.ts';
import { CLIENT_GONE } from '../../turn/turn.ts';

const POLL_MS = 2_000;

/** Aborts with CLIENT_GONE when the client exits; the client does not notify its hooks. */
export function abortWhenClientGone(controller: AbortController, context: DriverContext, parent: number): void {
  const { clientPid: pid, clientStartedAt: startedAt } = clientIdentity(context);
  const client = pid === null ? null : { pid, startedAt };
  const known = client !== null && isAlive(client);
  const timer = setInterval(() => {
    if ((known ? isAlive(client) : process.ppid === parent) && !launcherGone(context.env)) return;
    clearInterval(timer);
    controller.abort(CLIENT_GONE);
  }, POLL_MS);
  timer.unref();
}

/** Applies the flag files of a task folder at a Stop. Returns the answer after a cancel, else null. */
export function applyStopFlags(context: DriverContext, stored: StoredContract | null): HookAnswer | null {
  // Stops of a session are sequential, so a missing record will never arrive.
  const lost = (state: LoopState): void => projectionOf(context.files, context.now()).lost(countedBy(state));
  if (!applyFlags(context, stored, lost)) return null;
  clearCancellation(context.files);
  return { systemMessage: withPrefix(HOOK_TEXTS.cancelledStop) };
}

/** Applies the flag files; `beforeCancel` is called for a loop that they end. Returns whether they end one. */
export function applyFlags(
  context: DriverContext,
  stored: StoredContract | null,
  beforeCancel: (state: LoopState) => void,
): boolean {
  if (stored === null) return false;
  const { files, env, now } = context;
  const isOurs = (state: LoopState): boolean => ownership(state, context) !== 'foreign';
  return applyFlagFiles(files, env, now(), stored.contract, { isOurs, beforeCancel });
}
