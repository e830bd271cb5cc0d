import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { SHELL_EXPORTS } from '../../engine/schema/constants.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { apiFailure, lastApiError } from '../../hosts/claude/transcript/transcript.ts';
import type { HookAnswer } from '../../hosts/hook-io/stdio.ts';
import { findLiveContract, readCounters, readState } from '../../state/loop-files.ts';
import { show, withPrefix } from '../../state/process/program.ts';
import { memoryText, projectMemory } from '../../task/project-memory.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { isBefore } from '../../text/time.ts';
import type { DriverContext } from '../control/ownership.ts';
import { callingClient, clientAlive, drivenElsewhere, isHeldByAnother } from '../control/ownership.ts';
import { recordEvent } from '../records/journal.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { bind, dispatchOwn } from './own-loop.ts';

/** Begins a session: binds or starts its loop. Only a start by hand loads zod and yaml. */
export async function sessionStart(context: DriverContext): Promise<HookAnswer | null> {
  const { env, files, input } = context;
  // For the agent's shell, including after /clear.
  if (env['CLAUDE_ENV_FILE']) appendFileSync(env['CLAUDE_ENV_FILE'], `${SHELL_EXPORTS}\n`);
  if (drivenElsewhere(env)) return null;
  const current = readState(files.state);
  const wanted = env['RALPH_LOOP_ID'];
  const isHere = current.kind === 'loop' ? current.state.loopId === wanted : current.kind !== 'absent';
  if (wanted && !isHere && input.source === 'startup' && findLiveContract(files, wanted) === null)
    return { systemMessage: withPrefix(HOOK_TEXTS.notHere(files.projectDir)) };
  if (current.kind === 'absent') {
    if (wanted || input.source !== 'startup') return null;
    if (!existsSync(join(files.projectDir, DEFAULT_TASK))) return { systemMessage: withPrefix(HOOK_TEXTS.noLoop) };
    const { startByHand } = await import('../start/start-by-hand.ts');
    const { problem, warnings } = startByHand(files.projectDir, env, context.now(), context.host?.name);
    if (problem !== null) return { systemMessage: withPrefix(problem) };
    bind(context);
    // Clients with settings of their own have no such cap.
    const isCapped = context.host?.settings === undefined && env['CLAUDE_CODE_STOP_HOOK_BLOCK_CAP'] !== '0';
    const capped = isCapped ? ` ${HOOK_TEXTS.exportCap}` : '';
    return toNewContext(
      [`${show(HOOK_TEXTS.startedByHand)}${capped}`, ...warnings].map((each) => withPrefix(each)).join('\n'),
      context,
    );
  }
  if (current.kind !== 'loop') return null; // the Stop hook decides about it and reports it
  if (isHeldByAnother(current.state, callingClient(context), readCounters(files))) {
    const text = HOOK_TEXTS.atWorkElsewhere(current.state.clientPid ?? 0);
    return { systemMessage: withPrefix(text, current.state) };
  }
  if (bind(context)) {
    if (input.source === 'resume') recordApiError(current.state, context);
    const { sessionId, status, iteration, maxIterations } = current.state;
    const isMoved = sessionId !== null && sessionId !== input.sessionId && clientAlive(current.state);
    if (isMoved && input.source !== 'startup') {
      // The loop continues after the next message: the client does not run a Stop hook after `/clear` or `/branch`.
      const goesOn = status === 'running' || status === 'waiting';
      return goesOn ? toNewContext(withPrefix(HOOK_TEXTS.carriedOver(iteration, maxIterations)), context) : null;
    }
    // The client that exited may have been told of the pause, but not this one.
    const paused = current.state.status === 'paused' ? withPrefix(current.state.paused.message) : null;
    if (input.source === 'startup' && !wanted) return toNewContext(paused, context);
    return paused === null ? null : { systemMessage: paused };
  }
  const { mode, iteration } = current.state;
  if (input.source !== 'startup' || wanted || mode !== 'hook' || clientAlive(current.state)) return null;
  // A session started by hand does not take over a loop whose client has exited.
  return { systemMessage: withPrefix(HOOK_TEXTS.interruptedLoop(iteration), current.state) };
}

/** Adds the project memory to a session that the user begins; a launcher puts it into its prompt. */
function toNewContext(systemMessage: string | null, { files }: DriverContext): HookAnswer | null {
  const additionalContext = memoryText(projectMemory(files.projectDir));
  const told = systemMessage === null ? null : { systemMessage };
  if (additionalContext === null) return told;
  return { ...told, hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext } };
}

/** Records the API error with which the former client ended; a limit that still applies pauses the loop. */
function recordApiError(before: LoopState, context: DriverContext): void {
  const { files, input } = context;
  const noted = lastApiError(input.transcriptPath);
  const at = context.now();
  if (noted === null || before.turn !== 'agent' || isBefore(noted.at ?? at, before.lastDecision?.at ?? at)) return;
  const { loopId, iteration } = before;
  const { kind, message, resetsAt } = apiFailure({}, input.transcriptPath);
  recordEvent(files, at, { type: 'api.error', at, loopId, iteration, error: kind, reason: message, resetsAt });
  if (resetsAt === null || isBefore(resetsAt, at)) return;
  dispatchOwn(context, at, [{ type: 'api-error', at, error: { kind, message, resetsAt } }]);
}
