import type { LoopState } from '../../engine/schema/state.ts';
import { readTail } from '../../state/files/journal-lines.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { jsonOrNull } from '../../text/or-else.ts';

const TAIL_BYTES = 4 * 1024 * 1024;

/** Tools that go on working after their call has returned. */
const IN_BACKGROUND = ['Monitor'];

/**
 * Returns whether a call or a background task of the agent may be running now: one that was asked for in this turn and
 * has not returned, one that went into the background in this turn, or a background task that the loop no longer waits
 * for. A call that the client denied counts as running until the turn ends: there is no event for it.
 */
export function isAgentBusy(
  files: LoopFiles,
  state: Pick<LoopState, 'loopId' | 'lastDecision' | 'startedAt' | 'waitedOut'>,
): boolean {
  if (state.waitedOut.length > 0) return true;
  const since = state.lastDecision?.at ?? state.startedAt;
  const ended = new Set<unknown>();
  let busy = false;
  readTail(files.events, TAIL_BYTES, (line) => {
    if (!line.includes('"type":"tool.')) return false;
    const call = jsonOrNull(line) as Record<string, unknown> | null;
    if (call === null) return false;
    // What a runner hears of a call says nothing that the hooks do not.
    if (call['loopId'] !== state.loopId || call['callId'] === undefined) return false;
    if (String(call['at']) < since) return true;
    if (call['background'] === true) busy = true;
    else if (call['type'] === 'tool.asked') busy = !ended.has(call['callId']);
    else ended.add(call['callId']);
    return busy;
  });
  return busy;
}

/** Returns whether a call that has returned may go on in the background, by its input and what the client answered. */
export function goesOn(tool: string, input: Readonly<Record<string, unknown>>, response: unknown): boolean {
  if (IN_BACKGROUND.includes(tool) || input['run_in_background'] === true) return true;
  const answered = typeof response === 'object' && response !== null ? (response as Record<string, unknown>) : {};
  return typeof answered['backgroundTaskId'] === 'string';
}
