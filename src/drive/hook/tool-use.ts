import { existsSync } from 'node:fs';
import { toolCall } from '../../claude/hook-io/hook-input.ts';
import type { HookAnswer } from '../../claude/hook-io/stdio.ts';
import { toolSubject } from '../../claude/tool-subject.ts';
import { outOfTime } from '../../engine/policy/budget.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { classOf } from '../../guard/client-tools.ts';
import { evaluateToolCall } from '../../guard/evaluate-tool-call.ts';
import type { Verdict } from '../../guard/guard.ts';
import { appendEvent } from '../../state/event-stream.ts';
import { liveContract } from '../../state/evidence/live-contract.ts';
import { evidenceLost, lossIn } from '../../state/evidence/lost.ts';
import {
  findContract,
  findEndedContract,
  type LoopFiles,
  loopFiles,
  loopNamesIn,
  orLogged,
  readContract,
  readState,
  type StoredContract,
} from '../../state/loop-files.ts';
import { looksUnchanged } from '../../state/snapshot/look.ts';
import { beat, runFiles } from '../../state/task-folder/run-files.ts';
import { archivedLoops } from '../../state/with-state.ts';
import { hasFolder, hasTaskFolder, taskFolder, taskKind } from '../../task/task-file.ts';
import { mayStayInBackground } from '../control/agent-busy.ts';
import { isCancelled } from '../control/cancellation.ts';
import { type DriverContext, drivenElsewhere, ownership, routersOwn, runnersOwn } from '../control/ownership.ts';
import type { ProtectionReport } from '../control/restore-protected.ts';
import { HOOK_TEXTS, withPrefix } from '../turn/messages.ts';
import { guardRules } from './guard-context.ts';
import type { Live } from './own-loop.ts';

/** Decides a tool call, journals it, and delivers steering. Throws if it cannot decide; the call is then denied. */
export async function preToolUse(context: DriverContext): Promise<HookAnswer | null> {
  if (isCancelled(context)) return turnEnds();
  let loop: Live | Blind | 'none' = 'unreadable';
  try {
    loop = guardedLoop(context);
    return loop === 'none' ? null : await decide(context, loop);
  } catch (error) {
    const { text } = lossIn(error);
    if (!mayWrite(toolCall(context.input))) return null;
    if (loop !== 'none') note(context, loop, 'denied', { rule: LOST, reason: text });
    return { hookSpecificOutput: denied(`[blocked by guardrail: ${LOST}] ${HOOK_TEXTS.onlyReading(text)}`) };
  }
}

/** Name of the rule that nothing but reading is allowed while evidence is lost. */
const LOST = 'evidence-lost';

async function decide(context: DriverContext, loop: Live | Blind): Promise<HookAnswer | null> {
  const { files, env, input } = context;
  const call = toolCall(input);
  const stored = contractOf(context, loop);
  if (stored !== null && showsCancelFlag(context, loop, stored)) {
    const { applyFlags } = await import('./abort-stop.ts');
    if (applyFlags(context, stored, () => undefined)) return turnEnds();
  }
  const spent = await overBudget(context, loop, stored);
  if (spent !== null) return turnEnds(spent, HOOK_TEXTS.budgetUsed(spent));
  const rules = { ...guardRules(files, env, stored), typesUnasked: context.host?.typesUnasked === true };
  const held = loop === 'others' ? { ...rules, guardrails: null } : rules;
  const verdict =
    timeIsUp(loop, stored, context.now()) ??
    (await evaluateToolCall({ tool: call.name, input: call.input, cwd: input.cwd }, held));
  if (verdict.decision === 'deny') {
    note(context, loop, 'denied', { rule: verdict.rule, reason: verdict.message });
    return { hookSpecificOutput: denied(`[blocked by guardrail: ${verdict.rule}] ${verdict.message}`) };
  }
  // A change from before this call, outside any other call, is the user's: examine before recording the call.
  const seen = mayWrite(call) ? await lookAtProtected(context, loop, stored, null) : null;
  note(context, loop, 'asked', verdict.recorded.length > 0 ? { undecided: [...verdict.recorded] } : {});
  const steering = isSteered(loop) ? await deliver(context) : null;
  const allowed = isCheck(call, loop, stored) ? ALLOWED : null;
  const told = joined(seen?.toAgent ?? null, steering?.additionalContext ?? null);
  if (told === null && allowed === null) return seen === null ? null : shownToUser(seen, null);
  const said = told === null ? {} : { additionalContext: told };
  return { ...shownToUser(seen, steering), hookSpecificOutput: { hookEventName: 'PreToolUse', ...allowed, ...said } };
}

/** Returns the contract whose rules apply to a loop; null if it has none. Throws `evidence-lost`. */
function contractOf({ files }: DriverContext, loop: Live | Blind): StoredContract | null {
  return typeof loop === 'string' ? readContract(files) : liveContract(files, loop);
}

/** Returns whether a call may change files: all but known readers. */
function mayWrite({ name }: ReturnType<typeof toolCall>): boolean {
  return classOf(name) !== 'reads';
}

/** Examines the protected files, by lstat alone while nothing has changed. `call` has just run; null before a call. */
async function lookAtProtected(
  context: DriverContext,
  loop: Live | Blind,
  stored: StoredContract | null,
  call: ReturnType<typeof toolCall> | null,
): Promise<ProtectionReport | null> {
  if (typeof loop === 'string' || stored === null || looksUnchanged(`${context.files.snapshot}.look`) === true)
    return null;
  const { examineAroundCall } = await import('../control/examine-protected.ts');
  return examineAroundCall(context, loop, call);
}

function shownToUser(
  seen: ProtectionReport | null,
  steering: { readonly systemMessage: string | null } | null,
): { readonly systemMessage?: string } {
  const lines = seen === null ? null : seen.toUser.map((text) => withPrefix(text)).join('\n');
  const systemMessage = joined(lines, steering?.systemMessage ?? null);
  return systemMessage === null ? {} : { systemMessage };
}

function joined(...texts: readonly (string | null)[]): string | null {
  const all = texts.filter((text) => text !== null);
  return all.length === 0 ? null : all.join('\n');
}

const ALLOWED = {
  permissionDecision: 'allow',
  permissionDecisionReason: 'ralph-loop: the user named this command as a check of the loop.',
} as const;

/** Returns whether the call is exactly a check that the user agreed to; the client's rules cannot name a compound command. */
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

function turnEnds(stop: string = HOOK_TEXTS.cancelledStop, reason: string = HOOK_TEXTS.cancelled): HookAnswer {
  return { continue: false, stopReason: withPrefix(stop), hookSpecificOutput: denied(reason) };
}

/** Ends a session's loop that has used its budget, and returns why; null while some is left. A runner watches by itself. */
async function overBudget(
  { files, input, now }: DriverContext,
  loop: Live | Blind,
  stored: StoredContract | null,
): Promise<string | null> {
  if (typeof loop === 'string' || stored === null || loop.mode !== 'hook' || loop.turn === 'user') return null;
  const { maxCostUsd, maxTokens, maxTimeMs } = stored.contract.policy.budget;
  if (maxCostUsd === null && maxTokens === null && maxTimeMs === null) return null;
  const { endOverBudget } = await import('../control/end-over-budget.ts');
  return endOverBudget(files, loop, stored.contract, { at: now(), transcriptPath: input.transcriptPath });
}

/** Returns whether a cancel flag exists, for the session of a task folder only: a runner polls by itself. */
function showsCancelFlag({ files }: DriverContext, loop: Live | Blind, { contract }: StoredContract): boolean {
  if (!hasTaskFolder(contract) || typeof loop === 'string' || loop.mode !== 'hook') return false;
  return existsSync(runFiles(taskFolder(files.projectDir, contract.taskPath)).cancelFlag);
}

/** Journals a tool call that has run or failed, keeps up the heartbeat, and delivers steering. */
export async function postToolUse(context: DriverContext): Promise<HookAnswer | null> {
  const loop = loopAfter(context);
  if (loop === 'none') return null;
  const call = toolCall(context.input);
  const background = mayStayInBackground(call.name, call.input, call.response) ? ({ background: true } as const) : {};
  // Until the end of a call is recorded, a change belongs to that call, even for another call's look and after a kill.
  const seen = mayWrite(call) ? await lookAfter(context, loop, call) : null;
  note(context, loop, context.input.event === 'PostToolUseFailure' ? 'failed' : 'done', background);
  if (typeof loop === 'string') return null;
  showHeartbeat(context, loop);
  const steering = isSteered(loop) ? await deliver(context) : null;
  const said = joined(seen?.toAgent ?? null, steering?.additionalContext ?? null);
  if (said === null) return seen === null ? null : shownToUser(seen, null);
  const hookSpecificOutput = { hookEventName: context.input.event, additionalContext: said };
  return { ...shownToUser(seen, steering), hookSpecificOutput };
}

/** Returns the loop whose call has ended; `none` if its state and contract are lost, which the call before it was told. */
function loopAfter(context: DriverContext): Live | Blind | 'none' {
  try {
    return guardedLoop(context);
  } catch (error) {
    lossIn(error);
    return 'none';
  }
}

/** Examines the protected files after a call. Lost evidence is reported; the next call is denied. */
async function lookAfter(
  context: DriverContext,
  loop: Live | Blind,
  call: ReturnType<typeof toolCall>,
): Promise<ProtectionReport | null> {
  try {
    return await lookAtProtected(context, loop, contractOf(context, loop), call);
  } catch (error) {
    const { text } = lossIn(error);
    return { id: context.now(), toUser: [text], toAgent: HOOK_TEXTS.onlyReading(text), unrestored: [] };
  }
}

/** Takes steering out of the state. Loads the engine, which the other paths of this hook do not need. */
async function deliver(context: DriverContext) {
  return (await import('./user-prompt-submit.ts')).deliverSteering(context);
}

function isSteered(loop: Live | Blind): loop is Live {
  return typeof loop !== 'string' && loop.steering.some(({ delivery }) => delivery === 'now');
}

/** Reasons to guard only the loop's files: its state is unreadable, or another process drives it. */
type Blind = 'unreadable' | 'others';

/** Returns the loop whose rules apply here: this session's, or an unbound one. */
function guardedLoop(context: DriverContext): Live | Blind | 'none' {
  const { env, files } = context;
  const current = readState(files.state);
  if (current.kind === 'absent') return withoutState(context);
  if (current.kind !== 'loop') return 'unreadable';
  const { state } = current;
  if (state.status === 'ended') return 'none';
  const launched = env['RALPH_LOOP_ID'];
  // Another loop can have taken the place of the launched one; its contract says so.
  if (launched && launched !== state.loopId && contractNames(files, launched)) return 'unreadable';
  if (drivenElsewhere(env)) {
    const ours = (state.mode === 'runner' && runnersOwn(state.loopId, env)) || routersOwn(state, context);
    return ours ? state : 'others';
  }
  return ownership(state, context) === 'foreign' ? 'none' : state;
}

/** Returns whether the contract is that of this loop. */
function contractNames(files: LoopFiles, loopId: string): boolean {
  const found = findContract(files);
  return typeof found !== 'string' && found.contract.loopId === loopId;
}

/**
 * Judges a session whose loop has no state: its client was started for a loop that has not ended, so that its contract still
 * applies. Throws `evidence-lost` if that is gone as well.
 */
function withoutState({ env, files }: DriverContext): Blind | 'none' {
  const loopId = env['RALPH_LOOP_ID'];
  if (!loopId) return 'none';
  if (contractNames(files, loopId)) return 'unreadable';
  const hasEnded = findEndedContract(files, loopId) !== null;
  if (hasEnded || [...archivedLoops(files)].some(({ state }) => state.loopId === loopId)) return 'none';
  throw evidenceLost(files.contract, findContract(files) === 'unreadable' ? 'torn' : 'missing');
}

/** Denies calls once the iteration's time is up, so that the turn ends and Stop decides. */
function timeIsUp(loop: Live | Blind, stored: StoredContract | null, now: string): Verdict | null {
  const limit = stored?.contract.policy.pace.iterationTimeoutMs ?? null;
  if (typeof loop === 'string' || !outOfTime(loop, limit, now)) return null;
  return { decision: 'deny', rule: 'timeout', message: HOOK_TEXTS.timeIsUp };
}

function denied(reason: string): NonNullable<HookAnswer['hookSpecificOutput']> {
  return { hookEventName: 'PreToolUse', permissionDecision: 'deny', permissionDecisionReason: reason };
}

/** Records a call in the event stream, from which the breaker counts. */
function note(
  context: DriverContext,
  loop: Live | Blind,
  phase: 'asked' | 'denied' | 'done' | 'failed',
  more: Readonly<Record<string, unknown>> = {},
): void {
  if (typeof loop === 'string') return;
  const { files } = context;
  const { name: tool, id: callId, agentId, input } = toolCall(context.input);
  const at = context.now();
  const { loopId, iteration } = loop;
  // Later events of a call are matched by its id.
  const subject = phase === 'asked' || phase === 'denied' ? { about: toolSubject(input, files.projectDir) } : {};
  const agent = agentId === null ? {} : { agentId };
  const event = { type: `tool.${phase}`, at, loopId, iteration, tool, callId, ...subject, ...more, ...agent };
  // A full disk must not stop the agent's tools.
  orLogged(files, at, 'calls', () => appendEvent(files, event));
}

/** Runs a tool hook for the loop, or, in a router's subagent, for all loops of the project: any denial wins. */
export async function forEachLoopOfSession(
  context: DriverContext,
  decide: (context: DriverContext) => Promise<HookAnswer | null> | HookAnswer | null,
): Promise<HookAnswer | null> {
  if (context.env['RALPH_DRIVER'] !== 'router') return decide(context);
  let answer: HookAnswer | null = null;
  const { runtimeDir, projectDir } = context.files;
  // A cancelled loop has no state any more, but its agent must still be informed. Throws if the folder cannot be read: a
  // guard then denies the call.
  for (const name of loopNamesIn(runtimeDir)) {
    const own = await decide({ ...context, files: loopFiles(projectDir, name, context.env) });
    if (own === null) continue;
    if (own.continue === false || own.hookSpecificOutput?.permissionDecision === 'deny') return own;
    answer = answer === null ? own : together(answer, own);
  }
  return answer;
}

function together(one: HookAnswer, other: HookAnswer): HookAnswer {
  const [first, second] = [other, one].flatMap(({ hookSpecificOutput }) => hookSpecificOutput ?? []);
  const context = joined(
    ...[one, other].map(({ hookSpecificOutput }) => hookSpecificOutput?.additionalContext ?? null),
  );
  const systemMessage = joined(one.systemMessage ?? null, other.systemMessage ?? null);
  return {
    ...one,
    ...(systemMessage !== null && { systemMessage }),
    ...(first && context !== null && { hookSpecificOutput: { ...first, ...second, additionalContext: context } }),
  };
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
