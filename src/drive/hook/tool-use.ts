import { outOfTime } from '../../engine/policy/iteration-time.ts';
import { READERS } from '../../engine/schema/constants.ts';
import type { Policy, StoredContract } from '../../engine/schema/contract.ts';
import type { LiveState } from '../../engine/schema/state.ts';
import { classOf } from '../../guard/client-tools.ts';
import { evaluateToolCall } from '../../guard/evaluate-tool-call.ts';
import type { Verdict } from '../../guard/guard.ts';
import { type HookToolCall, toolCall } from '../../hosts/hook-io/hook-input.ts';
import type { HookAnswer } from '../../hosts/hook-io/stdio.ts';
import { lossIn } from '../../state/evidence/lost.ts';
import { loopFiles, loopNamesIn } from '../../state/loop-files.ts';
import { type DriverContext, isCancelled } from '../control/ownership.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import { guardRules } from './guard-context.ts';
import { contractOf, type Guarded, guardedLoop, mayEnd } from './guarded-loop.ts';
import { allowed, denied, together, turnEnds } from './tool-answer.ts';

/** Name of the rule that nothing but reading is allowed while evidence is lost. */
const LOST = 'evidence-lost';

/** Decides a tool call, records it, and delivers steering. Throws if it cannot decide; the call is then denied. */
export async function preToolUse(context: DriverContext): Promise<HookAnswer | null> {
  if (isCancelled(context)) return turnEnds();
  const call = toolCall(context.input);
  let loop: Guarded | 'none' = 'unreadable';
  try {
    loop = await guardedLoop(context);
    if (loop === 'none') return null;
    return await answer(context, { call, loop, stored: contractOf(context.files, loop), cwd: context.input.cwd });
  } catch (error) {
    const { text } = lossIn(error);
    if (!mayWrite(call)) return null;
    if (loop !== 'none') await recordDenial(context, loop, call, LOST, text);
    return denied(LOST, HOOK_TEXTS.onlyReading(text));
  }
}

async function answer(context: DriverContext, of: CallOfLoop): Promise<HookAnswer | null> {
  const { call, loop, stored } = of;
  if (typeof loop !== 'string' && stored !== null && mayEnd(context.files, loop, stored)) {
    const due = (await import('./deliver.ts')).endIfDue(context, loop, stored);
    if (due !== null) return due;
  }
  const verdict = await decide(context, of);
  if (verdict.decision === 'deny') {
    await recordDenial(context, loop, call, verdict.rule, verdict.message);
    return denied(verdict.rule, verdict.message);
  }
  const { lookAtProtected, record } = await import('./observe.ts');
  // A change from before this call, outside any other call, is the user's: examine before recording the call.
  const seen = mayWrite(call) ? await lookAtProtected(context, loop, stored, null) : null;
  record(context, loop, call, 'asked', verdict.recorded.length > 0 ? { undecided: [...verdict.recorded] } : {});
  const steer = context.host?.tellsAfterCalls ? null : await steering(context, loop);
  return allowed('PreToolUse', seen, steer, isCheck(of));
}

/** Journals a tool call that has run or failed, keeps up the heartbeat, and delivers steering. */
export async function postToolUse(context: DriverContext): Promise<HookAnswer | null> {
  let loop: Guarded | 'none' = 'none';
  try {
    loop = await guardedLoop(context);
  } catch (error) {
    // The call before it was told which evidence is lost.
    lossIn(error);
  }
  if (loop === 'none') return null;
  const call = toolCall(context.input);
  const { lookAfter, recordEnd } = await import('./observe.ts');
  // Until the end of a call is recorded, a change belongs to that call, even for another call's look and after a kill.
  const seen = mayWrite(call) ? await lookAfter(context, loop, call) : null;
  recordEnd(context, loop, call);
  return typeof loop === 'string' ? null : allowed(context.input.event, seen, await steering(context, loop));
}

/** Returns whether a call may change files: all but known readers. */
function mayWrite({ name }: HookToolCall): boolean {
  return classOf(name) !== 'reads';
}

async function recordDenial(
  context: DriverContext,
  loop: Guarded,
  call: HookToolCall,
  rule: string,
  reason: string,
): Promise<void> {
  (await import('./observe.ts')).record(context, loop, call, 'denied', { rule, reason });
}

/** Takes steering out of the state. Loads the engine, which the other ways through this hook do not need. */
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
  // A cancelled loop has no state any more, but its agent must still be informed. Throws if the folder cannot be read: a
  // guard then denies the call.
  for (const name of loopNamesIn(runtimeDir)) {
    const own = await decideOne({ ...context, files: loopFiles(projectDir, name, context.env) });
    if (own === null) continue;
    if (own.continue === false || own.hookSpecificOutput?.permissionDecision === 'deny') return own;
    all = all === null ? own : together(all, own);
  }
  return all;
}

/** Tool call, the loop whose rules apply to it, and its contract. */
interface CallOfLoop {
  readonly call: HookToolCall;
  readonly cwd: string;
  readonly loop: Guarded;
  readonly stored: StoredContract | null;
}

/** Decides a call by the time of its iteration and the rules. Throws if it cannot decide. */
async function decide(context: DriverContext, { call, cwd, loop, stored }: CallOfLoop): Promise<Verdict> {
  // The turn ends if its calls are denied, and Stop or the router's host decides.
  const late =
    typeof loop === 'string' || stored === null ? null : await lateness(loop, stored.contract.policy, context);
  if (late !== null) return { decision: 'deny', rule: 'timeout', message: late };
  // A reader can only be denied by private files.
  const isFree = READERS.includes(call.name) && stored?.contract.guardrails?.privateFiles?.length === 0;
  if (isFree) return { decision: 'allow', recorded: [] };
  const rules = guardRules(context.files, context.env, stored);
  const guardrails = loop === 'others' ? null : (rules.guardrails ?? null);
  const typesUnasked = context.host?.typesUnasked === true;
  return evaluateToolCall({ tool: call.name, input: call.input, cwd }, { ...rules, guardrails, typesUnasked });
}

/** Returns the answer to a call whose iteration, or whose router's loop, has used its time; null while there is time left. */
async function lateness(loop: LiveState, { pace, budget }: Policy, context: DriverContext): Promise<string | null> {
  const now = context.now();
  if (outOfTime(loop, pace.iterationTimeoutMs, now)) return HOOK_TEXTS.timeIsUp;
  // A runner ends its agent, and a session's turn is ended before this: only the call of a router's subagent gets here.
  if (loop.mode !== 'router' || budget.maxTimeMs === null) return null;
  const { timeReading } = await import('../../engine/policy/loop-time.ts');
  if (timeReading(loop, budget, now) === null) return null;
  // Under the lock, a sleep of the machine is left out.
  const { LOCK_WAIT, withState } = await import('../../state/with-state.ts');
  const spent = withState(context.files, LOCK_WAIT, (current) => {
    const isIt = current.kind === 'loop' && current.state.loopId === loop.loopId;
    return { next: 'keep', result: isIt ? timeReading(current.state, budget, now) : null };
  });
  return spent === null ? null : HOOK_TEXTS.loopTimeIsUp(spent.text);
}

/** Returns whether the call is exactly a check that the user agreed to; the client's rules cannot name a compound command. */
function isCheck({ call, loop, stored }: CallOfLoop): boolean {
  if (call.name !== 'Bash' || typeof loop === 'string' || loop.status === 'awaiting-consent') return false;
  if (stored === null || !stored.contract.consented || stored.hash !== loop.contractHash) return false;
  const { validation, task } = stored.contract;
  const command = typeof call.input['command'] === 'string' ? call.input['command'].trim() : '';
  return [...validation, ...(task?.commands ?? [])].some(({ run }) => run.trim() === command);
}
