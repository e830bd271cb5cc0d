import { existsSync, writeSync } from 'node:fs';
import { outOfTime } from '../../engine/policy/iteration-time.ts';
import { READERS } from '../../engine/schema/constants.ts';
import { mayWrite } from '../../guard/client-tools.ts';
import { evaluateToolCall } from '../../guard/evaluate-tool-call.ts';
import { type Denial, deny, type Verdict } from '../../guard/guard.ts';
import { toolCall } from '../../hosts/hook-io/hook-input.ts';
import type { HookAnswer } from '../../hosts/hook-io/stdio.ts';
import { liveContract, lossIn } from '../../state/evidence/evidence.ts';
import type { LoopFiles, StoredContract } from '../../state/loop-files.ts';
import { findLoop, loopFiles, loopNamesIn, readContract } from '../../state/loop-files.ts';
import { runFilesOf } from '../../task/task-file.ts';
import { asSentence } from '../../text/quote.ts';
import { cancellationOf, type DriverContext, rulesApply } from '../control/ownership.ts';
import { guardRules } from './guard-context.ts';
import { type Guarded, guardedLoop } from './guarded-loop.ts';
import type { CallOfLoop } from './observe.ts';
import { runHook } from './run-hook.ts';
import { allowed, denied, TOOL_TEXTS, together, turnEnds } from './tool-answer.ts';

/**
 * Runs the guard, which fails closed. Exit code 2 denies the call and passes standard error to the model; an error while
 * the bundle loads exits with 1, which `onFailure: block` denies. With exit code 0, anything but one JSON object would
 * allow the call (measured), so nothing is printed.
 */
export function runPreToolUse(): Promise<void> {
  return runHook(
    ['PreToolUse'],
    (context) => forEachLoopOfSession(context, preToolUse),
    (message) => {
      writeSync(2, TOOL_TEXTS.toolFailed(asSentence(message)));
      process.exitCode = 2;
      return null;
    },
  );
}

export function runPostToolUse(): Promise<void> {
  return runHook(
    ['PostToolUse', 'PostToolUseFailure'],
    (context) => forEachLoopOfSession(context, postToolUse),
    () => null,
  );
}

/** Rule that allows nothing but reading while evidence is lost. */
const LOST = 'evidence-lost';

/** A tool call, and the facts on which its answer rests, read once. */
interface Asked extends CallOfLoop {
  readonly stored: StoredContract | null;
}

/** Reads, decides and records a tool call, and delivers steering. Throws if it cannot decide; the call is then denied. */
export async function preToolUse(context: DriverContext): Promise<HookAnswer | null> {
  const { sessionId } = context.input;
  const over = cancellationOf(context.files, context.env, sessionId);
  if (over !== null) return turnEnds(over.why);
  const call = toolCall(context.input);
  const writes = mayWrite(call.name);
  let loop: Guarded | 'none' = 'unreadable';
  try {
    const found = findLoop(context.files);
    loop = await guardedLoop(found, context.files, context.env, sessionId);
    if (loop === 'none') return null;
    const stored =
      typeof loop === 'string' ? readContract(context.files, found.contract) : liveContract(context.files, loop, found);
    return await answer(context, { call, writes, loop, stored });
  } catch (error) {
    const { text } = lossIn(error);
    if (!writes || loop === 'none') return null;
    return refused(context.files, context.now(), { call, writes, loop }, LOST, TOOL_TEXTS.onlyReading(text));
  }
}

/** Ends a loop that is due, or decides the call, observes it and delivers steering: parts that share only the call. */
async function answer(context: DriverContext, asked: Asked): Promise<HookAnswer | null> {
  const due = await endIfDue(context, asked);
  if (due !== null) return due;
  const verdict = (await lateness(asked, context)) ?? (await decide(context, asked));
  if (verdict.decision === 'deny') return refused(context.files, context.now(), asked, verdict.rule, verdict.message);
  const seen = await (await import('./observe.ts')).observeBefore(context, asked, verdict.recorded);
  const steer = context.host?.tellsAfterCalls ? null : await steering(context, asked.loop);
  return allowed('PreToolUse', seen, steer, isCheck(asked));
}

/** Ends a session's loop that was cancelled or has used its budget; null if it continues. Loads the engine only then. */
async function endIfDue(context: DriverContext, { loop, stored }: Asked): Promise<HookAnswer | null> {
  if (typeof loop === 'string' || loop.mode !== 'hook' || stored === null) return null;
  const { contract } = stored;
  const { maxCostUsd, maxTokens, maxTimeMs } = contract.policy.budget;
  const run = runFilesOf(context.files.projectDir, contract);
  const hasFlag = run !== null && existsSync(run.cancelFlag);
  if (!hasFlag && (maxCostUsd ?? maxTokens ?? maxTimeMs) === null) return null;
  return (await import('./deliver.ts')).endIfDue(context, loop, contract, hasFlag);
}

/** Denies a call whose iteration has used its time, or router's loop its time or tokens; null while some are left. */
async function lateness({ loop, stored, call }: Asked, { env, input, now }: DriverContext): Promise<Denial | null> {
  if (typeof loop === 'string' || stored === null) return null;
  const { pace, budget } = stored.contract.policy;
  // The turn ends if its calls are denied, and Stop or the router's host decides.
  const isLate = (state: typeof loop): boolean => outOfTime(state, pace.iterationTimeoutMs, now());
  // Only a call that seems late pays for the clocks that tell how long the machine slept.
  if (isLate(loop) && isLate((await import('../../state/process/sleep-watch.ts')).awake(loop)))
    return deny('timeout', TOOL_TEXTS.timeIsUp);
  // A runner ends its agent, and a session's turn has ended before: only a call of a router's subagent gets here.
  if (loop.mode !== 'router' || (budget.maxTimeMs ?? budget.maxTokens) === null) return null;
  const { reachedBySubagent } = await import('../control/end-over-budget.ts');
  const as = { agentId: call.agentId, env: { ...env, CLAUDE_CODE_SESSION_ID: input.sessionId } };
  const reached = reachedBySubagent(loop, budget, now(), as);
  return reached === null ? null : deny('budget', TOOL_TEXTS.budgetIsUp(reached));
}

/** Decides a call by rules that were read before: opens no file of the loop. Throws if it cannot decide. */
async function decide({ files, env, host, input }: DriverContext, { call, loop, stored }: Asked): Promise<Verdict> {
  // Only private files can deny a reader. With unreadable guardrails, it is judged like any other tool.
  const isFree = READERS.includes(call.name) && stored?.contract.guardrails?.privateFiles?.length === 0;
  if (isFree) return { decision: 'allow', recorded: [] };
  if (!call.isReadable) return deny('unreadable-input', TOOL_TEXTS.unreadable);
  const unseen =
    call.name === 'Bash' && host?.whyUnseen?.((await import('../../state/process/ancestors.ts')).commandsAbove());
  if (unseen) return deny('unseen-input', unseen);
  const planned = stored?.contract.policy.plan && rulesApply(stored.contract.loopId, env) ? stored.contract : null;
  const openTask = planned && (await import('../records/open-task-file.ts')).readOpenTask(files, planned);
  const rules = guardRules(files, env, stored, openTask);
  const guardrails = loop === 'others' ? null : (rules.guardrails ?? null);
  return evaluateToolCall({ tool: call.name, input: call.input, cwd: input.cwd }, { ...rules, guardrails });
}

/** Records a tool call that has run or failed, renews the heartbeat, and delivers steering. */
export async function postToolUse(context: DriverContext): Promise<HookAnswer | null> {
  const call = toolCall(context.input);
  const writes = mayWrite(call.name);
  const found = findLoop(context.files);
  let loop: Guarded | 'none' = 'none';
  try {
    loop = await guardedLoop(found, context.files, context.env, context.input.sessionId);
  } catch (error) {
    // The denial before this call already named the lost evidence.
    lossIn(error);
  }
  if (loop === 'none') return null;
  const seen = await (await import('./observe.ts')).observeAfter(context, { call, writes, loop }, found);
  return typeof loop === 'string' ? null : allowed(context.input.event, seen, await steering(context, loop));
}

/** Records a denial, which the breaker counts, and returns it as the answer. */
async function refused(
  files: LoopFiles,
  at: string,
  asked: CallOfLoop,
  rule: string,
  reason: string,
): Promise<HookAnswer> {
  (await import('./observe.ts')).record(files, at, asked, 'denied', { rule, reason });
  return denied(rule, reason);
}

/** Takes steering out of the state. Loads the engine, which this hook otherwise does not need. */
async function steering(context: DriverContext, loop: Guarded) {
  if (typeof loop === 'string' || !loop.steering.some(({ delivery }) => delivery === 'now')) return null;
  return (await import('./deliver.ts')).deliverSteering(context);
}

/** Runs a tool hook for the loop, or, in a router's subagent, for all loops of the project: any denial wins. */
export async function forEachLoopOfSession(
  context: DriverContext,
  decideOne: (context: DriverContext) => Promise<HookAnswer | null> | HookAnswer | null,
): Promise<HookAnswer | null> {
  if (context.env['RALPH_DRIVER'] !== 'router') return decideOne(context);
  let all: HookAnswer | null = null;
  const { runtimeDir, projectDir } = context.files;
  // A cancelled loop has no state any more, but its agent must still be told. Throws if the folder cannot be read: a
  // guard then denies the call.
  for (const name of loopNamesIn(runtimeDir)) {
    const own = await decideOne({ ...context, files: loopFiles(projectDir, name, context.env) });
    if (own === null) continue;
    if (own.continue === false || own.hookSpecificOutput?.permissionDecision === 'deny') return own;
    all = all === null ? own : together(all, own);
  }
  return all;
}

/** Returns whether the call is exactly a check that the user agreed to; the client's rules cannot name a compound command. */
function isCheck({ call, loop, stored }: Asked): boolean {
  if (call.name !== 'Bash' || typeof loop === 'string' || loop.status === 'awaiting-consent') return false;
  if (stored === null || !stored.contract.consented || stored.hash !== loop.contractHash) return false;
  const { validation, task } = stored.contract;
  const command = typeof call.input['command'] === 'string' ? call.input['command'].trim() : '';
  return [...validation, ...(task?.commands ?? [])].some(({ run }) => run.trim() === command);
}
