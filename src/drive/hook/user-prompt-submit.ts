import type { EngineEvent } from '../../engine/events.ts';
import type { LiveState } from '../../engine/schema/state.ts';
import { isNotification } from '../../hosts/claude/transcript/queued-messages.ts';
import { blockOverridden } from '../../hosts/claude/transcript/transcript.ts';
import type { HookAnswer } from '../../hosts/hook-io/stdio.ts';
import { liveContract, lostBy } from '../../state/evidence/evidence.ts';
import { withPrefix } from '../../state/process/program.ts';
import { examineAll } from '../control/examine-protected.ts';
import {
  callingClient,
  cancellationOf,
  clearCancellation,
  type DriverContext,
  sameClient,
} from '../control/ownership.ts';
import { lostTurn } from '../control/present-state.ts';
import type { ProtectionReport } from '../control/restore-protected.ts';
import { bind, dispatchOwn, ownLoop } from './own-loop.ts';

/** Prompt with which the client itself continues after a usage limit has reset. */
const CONTINUATION = /^Your claude\.ai usage limit has reset\./;

/** Dispatches a prompt of the session with its author, and shows the user the consequences for the loop. */
export async function userPromptSubmit(context: DriverContext): Promise<HookAnswer | null> {
  // A Codex subagent's task arrives under the session id of its parent.
  if (typeof context.input.raw['agent_id'] === 'string') return null;
  const { promptId, prompt, sessionId, transcriptPath } = context.input;
  const by = isNotification(prompt) ? 'notification' : CONTINUATION.test(prompt ?? '') ? 'continuation' : 'user';
  if (by === 'user' && cancellationOf(context.files, context.env, sessionId) !== null) clearCancellation(context.files);
  const [found, client] = [ownLoop(context), callingClient(context)];
  // When this client continued its conversation, another client, now gone, still held the loop.
  const isOther = found !== null && client.clientPid !== null && !sameClient(found, client);
  // A client that tells its hooks no process id is recognised here, even in another conversation.
  const isJoining = (isOther || (found === null && context.host?.settings !== undefined)) && bind(context);
  const state = isJoining ? ownLoop(context) : found;
  if (state === null) return null;
  const at = context.now();
  const ourWordStands = state.turn === 'agent' && promptId !== state.promptId && state.lastDecision !== null;
  const overridden = ourWordStands && blockOverridden(transcriptPath, state.lastDecision?.at ?? at);
  const events: EngineEvent[] = [{ type: 'user-prompt', at, promptId, by }];
  if (overridden) events.unshift({ type: 'block-overridden', at });
  // Background work that ends after Esc continues the session, but not the loop.
  const lost = lostTurn(state);
  if (lost !== null) events.unshift(lost);
  const notes = dispatchOwn(context, at, events);
  if (notes === null) return null;
  const seen = by === 'notification' ? await examineAfterBackground(context, state) : null;
  const all = [...notes, ...(seen?.toUser ?? []).map((text) => withPrefix(text))];
  if (all.length === 0) return null;
  const hookSpecificOutput = { hookEventName: 'UserPromptSubmit', additionalContext: seen?.toAgent ?? '' };
  return { systemMessage: all.join('\n'), ...(seen?.toAgent != null && { hookSpecificOutput }) };
}

/** Restores protected files that were changed by background work that has just ended. */
async function examineAfterBackground(context: DriverContext, state: LiveState): Promise<ProtectionReport | null> {
  try {
    const stored = liveContract(context.files, state);
    return await examineAll({ context, loaded: { state, stored } }, 'background');
  } catch (error) {
    // The end of the turn reports it and pauses the loop.
    if (lostBy(error) === null) throw error;
    return null;
  }
}
