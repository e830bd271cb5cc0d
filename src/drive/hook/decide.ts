import { outOfTime } from '../../engine/policy/iteration-time.ts';
import { READERS } from '../../engine/schema/constants.ts';
import type { Policy, StoredContract } from '../../engine/schema/contract.ts';
import { evaluateToolCall } from '../../guard/evaluate-tool-call.ts';
import type { GuardRules, Verdict } from '../../guard/guard.ts';
import type { HookToolCall } from '../../hosts/hook-io/hook-input.ts';
import { HOOK_TEXTS } from '../turn/messages.ts';
import type { Guarded } from './guarded-loop.ts';
import type { Live } from './own-loop.ts';

/** Tool call, the loop whose rules apply to it, and its contract. */
export interface CallOfLoop {
  readonly call: HookToolCall;
  readonly cwd: string;
  readonly loop: Guarded;
  readonly stored: StoredContract | null;
}

/** Decides a call by the time of its iteration and the rules. Throws if it cannot decide. */
export async function decide(of: CallOfLoop, rulesOf: () => GuardRules, now: string): Promise<Verdict> {
  const { call, cwd, loop, stored } = of;
  // The turn ends if its calls are denied, and Stop or the router's host decides.
  const late = typeof loop === 'string' || stored === null ? null : await lateness(loop, stored.contract.policy, now);
  if (late !== null) return { decision: 'deny', rule: 'timeout', message: late };
  if (isFree(of)) return { decision: 'allow', recorded: [] };
  const rules = rulesOf();
  const held = loop === 'others' ? { ...rules, guardrails: null } : rules;
  return evaluateToolCall({ tool: call.name, input: call.input, cwd }, held);
}

/** Returns whether no rule can deny the call: it only reads, and the contract is known to have no private files. */
function isFree({ call: { name }, stored }: CallOfLoop): boolean {
  return READERS.includes(name) && stored?.contract.guardrails?.privateFiles?.length === 0;
}

/** Returns the answer to a call whose iteration, or whose router's loop, has used its time; null while there is time left. */
async function lateness(loop: Live, { pace, budget }: Policy, now: string): Promise<string | null> {
  if (outOfTime(loop, pace.iterationTimeoutMs, now)) return HOOK_TEXTS.timeIsUp;
  // A runner ends its agent, and a session's turn is ended before this: only the call of a router's subagent gets here.
  if (loop.mode !== 'router' || budget.maxTimeMs === null) return null;
  const { timeReading } = await import('../../engine/policy/loop-time.ts');
  const spent = timeReading(loop, budget, now);
  return spent === null ? null : HOOK_TEXTS.loopTimeIsUp(spent.text);
}

/** Returns whether the call is exactly a check that the user agreed to; the client's rules cannot name a compound command. */
export function isCheck({ call, loop, stored }: CallOfLoop): boolean {
  if (call.name !== 'Bash' || typeof loop === 'string' || loop.status === 'awaiting-consent') return false;
  if (stored === null || !stored.contract.consented || stored.hash !== loop.contractHash) return false;
  const { validation, task } = stored.contract;
  const command = typeof call.input['command'] === 'string' ? call.input['command'].trim() : '';
  return [...validation, ...(task?.commands ?? [])].some(({ run }) => run.trim() === command);
}
