import { existsSync, readdirSync } from 'node:fs';
import { toolCall } from '../../claude/hook-io/hook-input.ts';
import { outOfTime } from '../../engine/policy/budget.ts';
import type { CallRecord } from '../../engine/schema/records.ts';
import { evaluateToolCall } from '../../guard/evaluate-tool-call.ts';
import type { Verdict } from '../../guard/guard-rules.ts';
import { readContract, type StoredContract } from '../../state/contract-store.ts';
import { appendLine } from '../../state/files/journal-lines.ts';
import { log } from '../../state/log.ts';
import { LOOP_NAME, loopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import { runFiles } from '../../state/task-folder/run-files.ts';
import { hasTaskFolder, taskFolder } from '../../task/task-file.ts';
import { isCancelled } from '../control/cancellation.ts';
import { showHeartbeat } from '../records/heartbeat.ts';
import { HOOK_TEXTS, withPrefix } from '../turn/messages.ts';
import { type DriverContext, drivenElsewhere, ownership, routersOwn, runnersOwn } from '../turn/ownership.ts';
import { guardRules } from './guard-context.ts';
import type { Live } from './own-loop.ts';

export interface PreToolAnswer {
  readonly continue?: false;
  readonly stopReason?: string;
  readonly hookSpecificOutput?: {
    readonly hookEventName: 'PreToolUse';
    readonly permissionDecision?: 'deny' | 'allow';
    readonly permissionDecisionReason?: string;
    readonly additionalContext?: string;
  };
}

export interface PostToolAnswer {
  readonly hookSpecificOutput: { readonly hookEventName: string; readonly additionalContext: string };
}

/** Decides a tool call, journals it, and delivers steering. Throws if it cannot decide; the call is then denied. */
export async function preToolUse(context: DriverContext): Promise<PreToolAnswer | null> {
  if (isCancelled(context)) return TURN_ENDS;
  const loop = guardedLoop(context);
  if (loop === 'none') return null;
  const { files, env, input } = context;
  const call = toolCall(input);
  const stored = readContract(files);
  if (stored !== null && showsCancelFlag(context, loop, stored)) {
    const { applyCancelFlag } = await import('./abort-stop.ts');
    if (applyCancelFlag(context, stored)) return TURN_ENDS;
  }
  const rules = guardRules(files, env, stored);
  const held = loop === 'others' ? { ...rules, guardrails: null } : rules;
  const verdict =
    timeIsUp(loop, stored, context.now()) ??
    (await evaluateToolCall({ tool: call.name, input: call.input, cwd: input.cwd }, held));
  if (verdict.decision === 'deny') {
    note(context, loop, 'denied', { rule: verdict.rule });
    return { hookSpecificOutput: denied(`[blocked by guardrail: ${verdict.rule}] ${verdict.message}`) };
  }
  note(context, loop, 'asked', verdict.recorded.length > 0 ? { undecided: [...verdict.recorded] } : {});
  const steering = isSteered(loop) ? await deliver(context) : null;
  const allowed = isCheck(call, loop, stored) ? ALLOWED : null;
  if (steering === null && allowed === null) return null;
  const said = steering === null ? {} : { additionalContext: steering };
  return { hookSpecificOutput: { hookEventName: 'PreToolUse', ...allowed, ...said } };
}

const ALLOWED = {
  permissionDecision: 'allow',
  permissionDecisionReason: 'ralph-loop: the user named this command as a check of the loop.',
} as const;

/** Returns whether the call is exactly a check that the user agreed to; a rule of the client cannot name a compound one. */
function isCheck(
  { name, input }: ReturnType<typeof toolCall>,
  loop: Live | Blind,
  stored: StoredContract | null,
): boolean {
  if (name !== 'Bash' || typeof loop === 'string' || loop.status === 'awaiting-consent') return false;
  if (stored === null || !stored.contract.consented || stored.hash !== loop.contractHash) return false;
  const { validation, task } = stored.contract;
  const command = typeof input['command'] === 'string' ? input['command'].trim() : '';
  return [...validation, ...(task?.commands ?? [])].some(({ run }) => run.trim() === command);
}

const TURN_ENDS: PreToolAnswer = {
  continue: false,
  stopReason: withPrefix(HOOK_TEXTS.cancelledStop),
  hookSpecificOutput: denied(HOOK_TEXTS.cancelled),
};

/** Returns whether a cancel flag exists, for a task folder’s own session only: a runner polls by itself. */
function showsCancelFlag({ files }: DriverContext, loop: Live | Blind, { contract }: StoredContract): boolean {
  if (!hasTaskFolder(contract) || typeof loop === 'string' || loop.mode !== 'hook') return false;
  return existsSync(runFiles(taskFolder(files.projectDir, contract.taskPath)).cancelFlag);
}

/** Journals a tool call that has run or failed, keeps up the heartbeat, and delivers steering. */
export async function postToolUse(context: DriverContext): Promise<PostToolAnswer | null> {
  const loop = guardedLoop(context);
  if (loop === 'none') return null;
  note(context, loop, context.input.event === 'PostToolUseFailure' ? 'failed' : 'done');
  if (typeof loop === 'string') return null;
  showHeartbeat(context, loop);
  const steering = isSteered(loop) ? await deliver(context) : null;
  if (steering === null) return null;
  return { hookSpecificOutput: { hookEventName: context.input.event, additionalContext: steering } };
}

/** Takes steering out of the state. That needs the engine, which is loaded only here. */
async function deliver(context: DriverContext): Promise<string | null> {
  return (await import('./user-prompt-submit.ts')).deliverSteering(context);
}

function isSteered(loop: Live | Blind): loop is Live {
  return typeof loop !== 'string' && loop.steering.some(({ delivery }) => delivery === 'now');
}

/** Reasons to guard only the loop’s files: its state is unreadable, or another process drives it. */
type Blind = 'unreadable' | 'others';

/** Returns the loop whose rules apply here: this session’s, or an unbound one. */
function guardedLoop(context: DriverContext): Live | Blind | 'none' {
  const { env, files } = context;
  const current = readState(files.state);
  if (current.kind === 'absent') return 'none';
  if (current.kind !== 'loop') return 'unreadable';
  const { state } = current;
  if (state.status === 'ended') return 'none';
  if (drivenElsewhere(env)) {
    const ours = (state.mode === 'runner' && runnersOwn(state.loopId, env)) || routersOwn(state, context);
    return ours ? state : 'others';
  }
  return ownership(state, context) === 'foreign' ? 'none' : state;
}

/** Denies calls once the iteration’s time is up, so that the turn ends and Stop decides. */
function timeIsUp(loop: Live | Blind, stored: StoredContract | null, now: string): Verdict | null {
  const limit = stored?.contract.policy.pace.iterationTimeoutMs ?? null;
  if (typeof loop === 'string' || !outOfTime(loop, limit, now)) return null;
  return { decision: 'deny', rule: 'timeout', message: HOOK_TEXTS.timeIsUp };
}

function denied(reason: string): NonNullable<PreToolAnswer['hookSpecificOutput']> {
  return { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: reason };
}

function note(
  context: DriverContext,
  loop: Live | Blind,
  phase: CallRecord['phase'],
  more: Partial<CallRecord> = {},
): void {
  if (typeof loop === 'string') return;
  const { files } = context;
  const { name, id, agentId } = toolCall(context.input);
  const record: CallRecord = {
    at: context.now(),
    loopId: loop.loopId,
    tool: name,
    callId: id,
    phase,
    ...more,
    ...(agentId === null ? {} : { agentId }),
  };
  try {
    appendLine(files.calls, record);
  } catch (error) {
    // The journal serves the breaker; a full disk must not stop the agent’s tools.
    log(files, record.at, 'calls', (error as Error).message);
  }
}

interface Answer {
  readonly continue?: false;
  readonly hookSpecificOutput?: { readonly permissionDecision?: 'deny' | 'allow'; readonly additionalContext?: string };
}

/** Runs a tool hook for the loop, or, in a router's subagent, for all loops of the project: any denial wins. */
export async function forEachLoopOfSession<T extends Answer>(
  context: DriverContext,
  decide: (context: DriverContext) => Promise<T | null> | T | null,
): Promise<T | null> {
  if (context.env['RALPH_DRIVER'] !== 'router') return decide(context);
  let answer: T | null = null;
  for (const files of loopsHere(context)) {
    const own = await decide({ ...context, files });
    if (own === null) continue;
    if (own.continue === false || own.hookSpecificOutput?.permissionDecision === 'deny') return own;
    answer = answer === null ? own : together(answer, own);
  }
  return answer;
}

function together<T extends Answer>(one: T, other: T): T {
  const said = [one, other].map(({ hookSpecificOutput }) => hookSpecificOutput?.additionalContext ?? '');
  return { ...one, hookSpecificOutput: { ...one.hookSpecificOutput, additionalContext: said.join('\n') } };
}

function loopsHere({ files, env }: DriverContext): (typeof files)[] {
  let entries: string[];
  try {
    entries = readdirSync(files.runtimeDir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error; // a guard that cannot read the folder denies the call
  }
  // A loop that was just cancelled has no state any more, but its agent must still be told.
  const names = entries.flatMap((entry) => {
    const found = /^ralph-(?:state(?:\.(.+))?\.json|archive(?:\.(.+))?)$/.exec(entry);
    const name = found?.[1] ?? found?.[2] ?? null;
    return found === null || (name !== null && !LOOP_NAME.test(name)) ? [] : [name];
  });
  return [...new Set(names)].map((name) => loopFiles(files.projectDir, name, env));
}
