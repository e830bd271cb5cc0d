import { appendFileSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { transcriptSize } from '../../claude/transcript/transcript.ts';
import { memoryText } from '../../engine/prompt/memory.ts';
import { bindSession } from '../../engine/resume-state.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { readState } from '../../state/read-state.ts';
import { LOCK_WAIT, withState } from '../../state/with-state.ts';
import { projectMemory } from '../../task/memory/project-memory.ts';
import { DEFAULT_TASK } from '../../task/task-file.ts';
import { HOOK_TEXTS, said } from '../turn/messages.ts';
import type { DriverContext } from '../turn/ownership.ts';
import { clientAlive, clientIdentity, drivenElsewhere, ownership } from '../turn/ownership.ts';

/** What the user reads, and what the agent is told beside their first words. */
interface SessionAnswer {
  readonly systemMessage?: string;
  readonly hookSpecificOutput?: { readonly hookEventName: 'SessionStart'; readonly additionalContext: string };
}

/**
 * A session begins: binds the loop that the launcher made for it, starts one for a start by hand, and shields clients
 * that the agent itself will start. A start by hand reads frontmatter with zod and yaml, which are loaded only there.
 */
export async function sessionStart(context: DriverContext): Promise<SessionAnswer | null> {
  shieldNestedClients(context);
  const { env, files, input } = context;
  if (drivenElsewhere(env)) return null;
  const current = readState(files.state);
  if (current.kind === 'absent') {
    const byHand =
      !env['RALPH_LOOP_ID'] && input.source === 'startup' && existsSync(join(files.projectDir, DEFAULT_TASK));
    if (!byHand) return null;
    const { startByHand } = await import('../start/start-loop.ts');
    const { problem, warnings } = startByHand(files.projectDir, env, context.now());
    if (problem !== null) return { systemMessage: said(problem) };
    bind(context);
    return toNewContext([byHandText(env), ...warnings].map(said).join('\n'), context);
  }
  if (current.kind !== 'loop') return null; // the Stop hook decides about it, and says so
  if (bind(context)) {
    if (input.source === 'clear') return carriedOver(current.state, context);
    return input.source === 'startup' && !env['RALPH_LOOP_ID'] ? toNewContext(null, context) : null;
  }
  return input.source === 'startup' ? leftBehind(current.state, context) : null;
}

/** After `/clear` nothing happens by itself: the client runs no Stop hook until somebody speaks. */
function carriedOver({ status, iteration, maxIterations }: LoopState, context: DriverContext): SessionAnswer | null {
  if (status !== 'running' && status !== 'waiting') return null;
  return toNewContext(said(HOOK_TEXTS.carriedOver(iteration, maxIterations)), context);
}

/** What a launcher's prompt names for an agent that knows nothing, its user does not type. */
function toNewContext(systemMessage: string | null, { files }: DriverContext): SessionAnswer | null {
  const additionalContext = memoryText(projectMemory(files.projectDir));
  const told = systemMessage === null ? null : { systemMessage };
  if (additionalContext === null) return told;
  return { ...told, hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext } };
}

/**
 * The agent's shell sees RALPH_ACTIVE=0 from here on, and the hooks still see 1: a `claude` that the agent starts is no
 * part of the loop. Lost after /clear if written at start-up only, so on every source.
 */
function shieldNestedClients({ env }: DriverContext): void {
  const file = env['CLAUDE_ENV_FILE'];
  if (file) appendFileSync(file, 'export RALPH_ACTIVE=0\n');
}

/** Binds the loop to this session where it may be: true when it is now this session's. */
function bind(context: DriverContext): boolean {
  return withState<boolean>(context.files, LOCK_WAIT, (current) => {
    if (current.kind !== 'loop' || !mayBind(current.state, context)) return { next: 'keep', result: false };
    return { next: bound(current.state, context), result: true };
  });
}

function mayBind(state: LoopState, context: DriverContext): boolean {
  if (state.status === 'ended') return false;
  const owned = ownership(state, context);
  if (owned !== 'foreign') return true;
  // A launcher that came back for a loop whose client died brings the loop's own id.
  return context.env['RALPH_LOOP_ID'] === state.loopId && state.mode === 'hook' && !clientAlive(state);
}

function bound(state: LoopState, context: DriverContext): LoopState {
  const { transcriptPath } = context.input;
  const next = bindSession(state, clientIdentity(context));
  // What stands in a resumed transcript was paid for before; everything from here on is the loop's.
  const fresh = next.marks.transcriptPath !== transcriptPath;
  const transcriptBytes = fresh ? (transcriptSize(transcriptPath) ?? 0) : next.marks.transcriptBytes;
  return { ...next, marks: { ...next.marks, transcriptPath, transcriptBytes } };
}

/** A start by hand next to the state of a client that is gone: the loop is not taken over by chance. */
function leftBehind(state: LoopState, { env }: DriverContext): { systemMessage: string } | null {
  if (env['RALPH_LOOP_ID'] || state.mode !== 'hook' || clientAlive(state)) return null;
  return { systemMessage: said(HOOK_TEXTS.leftBehind(state.iteration)) };
}

function byHandText(env: NodeJS.ProcessEnv): string {
  const capped = env['CLAUDE_CODE_STOP_HOOK_BLOCK_CAP'] === '0' ? '' : ` ${HOOK_TEXTS.exportCap}`;
  return `${HOOK_TEXTS.startedByHand}${capped}`;
}
