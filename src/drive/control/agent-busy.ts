import type { LoopState } from '../../engine/schema/state.ts';
import { readBackwards } from '../../state/event-stream.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

const TAIL_BYTES = 4 * 1024 * 1024;

/** Tools that keep running after their call returns. */
const IN_BACKGROUND = ['Monitor'];

/**
 * Returns whether a call or a background task of the agent may be running: a call of this turn that has not returned or has
 * moved to the background, or a background task that the loop no longer waits for. A call that the client denied counts as
 * running until the turn ends, because no event reports the denial.
 */
export function isAgentBusy(
  files: LoopFiles,
  state: Pick<LoopState, 'loopId' | 'lastDecision' | 'startedAt' | 'waitedOut'>,
): boolean {
  if (state.waitedOut.length > 0) return true;
  const since = state.lastDecision?.at ?? state.startedAt;
  const ended = new Set<unknown>();
  let busy = false;
  readBackwards(files, state.loopId, TAIL_BYTES, ['tool.'], (call) => {
    // A runner's own events about calls have no call id and add nothing to those of the hooks.
    if (call['callId'] === undefined) return false;
    if (String(call['at']) < since) return true;
    if (call['background'] === true) busy = true;
    else if (call['type'] === 'tool.asked') busy = !ended.has(call['callId']);
    else ended.add(call['callId']);
    return busy;
  });
  return busy;
}

/** Returns whether a call that has returned may still run in the background, judging by its input and the client's response. */
export function mayStayInBackground(
  tool: string,
  input: Readonly<Record<string, unknown>>,
  response: unknown,
): boolean {
  if (IN_BACKGROUND.includes(tool) || input['run_in_background'] === true) return true;
  const answered = typeof response === 'object' && response !== null ? (response as Record<string, unknown>) : {};
  return typeof answered['backgroundTaskId'] === 'string';
}
