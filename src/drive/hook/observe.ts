import type { StoredContract } from '../../engine/schema/contract.ts';
import type { LiveState, LoopState } from '../../engine/schema/state.ts';
import type { HookToolCall } from '../../hosts/hook-io/hook-input.ts';
import { toolSubject } from '../../hosts/tool-subject.ts';
import { appendEvent } from '../../state/event-stream.ts';
import { liveContract, lossIn } from '../../state/evidence/evidence.ts';
import { contractIfOf, type FoundLoop, type LoopFiles, orLogged } from '../../state/loop-files.ts';
import { beat } from '../../state/task-folder/run-files.ts';
import { hasFolder, runFilesOf, taskKind } from '../../task/task-file.ts';
import { mayStayInBackground } from '../control/agent-busy.ts';
import { examineAroundCall } from '../control/examine-protected.ts';
import type { DriverContext } from '../control/ownership.ts';
import type { ProtectionContext, ProtectionReport } from '../control/restore-protected.ts';
import type { Guarded } from './guarded-loop.ts';
import { TOOL_TEXTS } from './tool-answer.ts';

/** A tool call, and the loop whose rules apply to it. */
export interface CallOfLoop {
  readonly call: HookToolCall;
  /** The tool may change files. */
  readonly writes: boolean;
  readonly loop: Guarded;
}

/** Records a call in the event stream, from which the breaker counts. */
export function record(
  files: LoopFiles,
  at: string,
  { call: { name: tool, id: callId, agentId, input }, loop }: CallOfLoop,
  phase: 'asked' | 'denied' | 'done' | 'failed',
  more: Readonly<Record<string, unknown>> = {},
): void {
  if (typeof loop === 'string') return;
  const { loopId, iteration } = loop;
  // Later events of a call are matched by its id.
  const subject = phase === 'asked' || phase === 'denied' ? { about: toolSubject(input, files.projectDir) } : {};
  const agent = agentId === null ? {} : { agentId };
  const event = { type: `tool.${phase}`, at, loopId, iteration, tool, callId, ...subject, ...more, ...agent };
  // A full disk must not stop the agent's tools.
  orLogged(files, at, 'calls', () => appendEvent(files, event));
}

/** Examines the protected files before a call that may write, and records it with what the rules left undecided. */
export async function observeBefore(
  context: ProtectionContext,
  { call, writes, loop, stored }: CallOfLoop & { readonly stored: StoredContract | null },
  recorded: readonly string[],
): Promise<ProtectionReport | null> {
  // A change from before this call, outside any other call, is the user's: examine before recording the call.
  const isExamined = writes && typeof loop !== 'string' && stored !== null;
  const seen = isExamined ? await examineAroundCall(context, loop, stored.contract, null) : null;
  const undecided = recorded.length > 0 ? { undecided: recorded } : {};
  record(context.files, context.now(), { call, writes, loop }, 'asked', undecided);
  return seen;
}

/** Examines the protected files after a call that may have written, and records its end and a heartbeat. */
export async function observeAfter(
  context: DriverContext,
  { call, writes, loop }: CallOfLoop,
  found: FoundLoop,
): Promise<ProtectionReport | null> {
  // Examine before recording the end of the call: until then, changes count as that call's, also after a kill.
  const seen = writes && typeof loop !== 'string' ? await lookAfter(context, loop, call, found) : null;
  const background = mayStayInBackground(call.name, call.input, call.response) ? { background: true } : {};
  const phase = context.input.event === 'PostToolUseFailure' ? 'failed' : 'done';
  record(context.files, context.now(), { call, writes, loop }, phase, background);
  if (typeof loop !== 'string') showHeartbeat(context.files, context.now(), loop, found);
  return seen;
}

/** Examines the protected files after a call. Lost evidence is reported; the next call is denied. */
async function lookAfter(
  context: ProtectionContext,
  loop: LiveState,
  call: HookToolCall,
  found: FoundLoop,
): Promise<ProtectionReport | null> {
  try {
    const stored = liveContract(context.files, loop, found);
    return stored && (await examineAroundCall(context, loop, stored.contract, call));
  } catch (error) {
    const { text } = lossIn(error);
    return { id: context.now(), toUser: [text], toAgent: TOOL_TEXTS.onlyReading(text), unrestored: [] };
  }
}

/** Records a heartbeat in the task folder, at most once a minute. Failures are logged. */
function showHeartbeat(files: LoopFiles, at: string, { loopId, taskPath }: LoopState, found: FoundLoop): void {
  if (!hasFolder(taskKind(taskPath))) return;
  orLogged(files, at, 'mirror', () => {
    // The agent can write the state, so the folder is the one that the contract names.
    const stored = contractIfOf(loopId, found.contract);
    const run = stored && runFilesOf(files.projectDir, stored.contract);
    if (run !== null) beat(run, loopId, at);
  });
}
