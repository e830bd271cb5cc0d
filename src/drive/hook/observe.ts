import type { StoredContract } from '../../engine/schema/contract.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { HookToolCall } from '../../hosts/hook-io/hook-input.ts';
import { toolSubject } from '../../hosts/tool-subject.ts';
import { appendEvent } from '../../state/event-stream.ts';
import { lossIn } from '../../state/evidence/lost.ts';
import { orLogged, readContract } from '../../state/loop-files.ts';
import { looksUnchanged } from '../../state/snapshot/look.ts';
import { beat, runFiles } from '../../state/task-folder/run-files.ts';
import { hasFolder, taskFolder, taskKind } from '../../task/task-file.ts';
import { mayStayInBackground } from '../control/agent-busy.ts';
import type { DriverContext } from '../control/ownership.ts';
import type { ProtectionReport } from '../control/restore-protected.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { contractOf, type Guarded } from './guarded-loop.ts';

/** Records a call in the event stream, from which the breaker counts. */
export function record(
  { files, now }: DriverContext,
  loop: Guarded,
  { name: tool, id: callId, agentId, input }: HookToolCall,
  phase: 'asked' | 'denied' | 'done' | 'failed',
  more: Readonly<Record<string, unknown>> = {},
): void {
  if (typeof loop === 'string') return;
  const at = now();
  const { loopId, iteration } = loop;
  // Later events of a call are matched by its id.
  const subject = phase === 'asked' || phase === 'denied' ? { about: toolSubject(input, files.projectDir) } : {};
  const agent = agentId === null ? {} : { agentId };
  const event = { type: `tool.${phase}`, at, loopId, iteration, tool, callId, ...subject, ...more, ...agent };
  // A full disk must not stop the agent's tools.
  orLogged(files, at, 'calls', () => appendEvent(files, event));
}

/** Records the end of a call, and a heartbeat. */
export function recordEnd(context: DriverContext, loop: Guarded, call: HookToolCall): void {
  const background = mayStayInBackground(call.name, call.input, call.response) ? { background: true } : {};
  record(context, loop, call, context.input.event === 'PostToolUseFailure' ? 'failed' : 'done', background);
  if (typeof loop !== 'string') showHeartbeat(context, loop);
}

/** Examines the protected files, by lstat alone while nothing has changed. `call` has just run; null before a call. */
export async function lookAtProtected(
  context: DriverContext,
  loop: Guarded,
  stored: StoredContract | null,
  call: HookToolCall | null,
): Promise<ProtectionReport | null> {
  const { snapshot } = context.files;
  if (typeof loop === 'string' || stored === null || looksUnchanged(`${snapshot}.look`) === true) return null;
  const { examineAroundCall } = await import('../control/examine-protected.ts');
  return examineAroundCall(context, loop, call);
}

/** Examines the protected files after a call. Lost evidence is reported; the next call is denied. */
export async function lookAfter(
  context: DriverContext,
  loop: Guarded,
  call: HookToolCall,
): Promise<ProtectionReport | null> {
  try {
    return await lookAtProtected(context, loop, contractOf(context.files, loop), call);
  } catch (error) {
    const { text } = lossIn(error);
    return { id: context.now(), toUser: [text], toAgent: HOOK_TEXTS.onlyReading(text), unrestored: [] };
  }
}

/** Records a heartbeat in the task folder, at most once a minute. Failures are logged. */
function showHeartbeat({ files, now }: DriverContext, { loopId, taskPath }: LoopState): void {
  if (!hasFolder(taskKind(taskPath))) return;
  const at = now();
  orLogged(files, at, 'mirror', () => {
    // The agent can write the state, so the folder is the one that the contract names.
    const contract = readContract(files)?.contract;
    if (contract?.task && contract.loopId === loopId) {
      beat(runFiles(taskFolder(files.projectDir, contract.taskPath)), loopId, at);
    }
  });
}
