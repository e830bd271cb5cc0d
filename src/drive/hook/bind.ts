import { bindSession } from '../../engine/initial-state.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { blockOverridden, transcriptSize } from '../../hosts/claude/transcript/transcript.ts';
import { withState } from '../../state/with-state.ts';
import type { DriverContext } from '../control/ownership.ts';
import { callingClient, clientAlive, isHeldByAnother, ownership, sameClient } from '../control/ownership.ts';
import { usageNow } from '../records/client-figures.ts';

/** Binds the loop to this session if allowed. Returns whether the loop now belongs to it. */
export function bind(context: DriverContext): boolean {
  return withState<boolean>(context.files, (current) => {
    if (current.kind !== 'loop' || !mayBind(current.state, context)) return { next: 'keep', result: false };
    return { next: bound(current.state, context), result: true };
  });
}

function mayBind(state: LoopState, context: DriverContext): boolean {
  if (state.status === 'ended' || isHeldByAnother(state, context)) return false;
  const { env, input } = context;
  if (ownership(state, env, input.sessionId) !== 'foreign') return true;
  const wanted = env['RALPH_LOOP_ID'] || state.loopId;
  if (wanted !== state.loopId || state.mode !== 'hook') return false;
  if (input.source === 'clear' && sameClient(state, callingClient(context))) return true;
  // A launcher that resumes the loop of a dead client passes the loop's id.
  return env['RALPH_LOOP_ID'] === wanted && !clientAlive(state);
}

function bound(state: LoopState, context: DriverContext): LoopState {
  const { transcriptPath } = context.input;
  const client = callingClient(context);
  const isOver = context.input.source === 'clear' || !sameClient(state, client);
  const unfinished = state.sessionId !== null && state.turn === 'agent' && isOver;
  // The turn ended with its client or its conversation, so the user's next message is not an interruption. The next prompt
  // reports an overridden block.
  const returned = unfinished && !blockOverridden(transcriptPath, state.lastDecision?.at ?? context.now());
  // What the last turn before it cost is reported after its Stop.
  const former = { ...state, usage: usageNow(context.files, state) };
  const next = bindSession(returned ? { ...former, turn: 'rest' as const } : former, client);
  // Usage in a resumed transcript was counted before; only new usage belongs to the loop.
  const fresh = next.marks.transcriptPath !== transcriptPath;
  const transcriptBytes = fresh ? (transcriptSize(transcriptPath) ?? 0) : next.marks.transcriptBytes;
  return { ...next, marks: { ...next.marks, transcriptPath, transcriptBytes } };
}
