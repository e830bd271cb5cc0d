import type { Effect, Told } from '../../engine/effects.ts';
import { type AssembledPrompt, wholePrompt } from '../../engine/prompt/assemble-prompt.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import type { StartedLoop } from '../start/start-loop.ts';
import { carryOut } from '../turn/apply-effects.ts';
import { turnWork } from '../turn/run-turn-work.ts';
import { heardContext, type Turn } from '../turn/turn.ts';

/** The contract of a loop over a plan; null for every other. */
export function planContract({ loaded }: Pick<Turn, 'loaded'>): Contract | null {
  const contract = loaded.stored?.contract;
  return contract?.policy.plan ? contract : null;
}

/**
 * Has a plan's next task opened before its prompt is made, in every driver. Gives what has to be done instead of that
 * prompt, or null, and null for every other loop. What Markdown takes is loaded for a plan alone.
 */
export async function openPlan(turn: Turn, tell: (message: string) => void): Promise<readonly Effect[] | null> {
  const contract = planContract(turn);
  if (contract === null) return null;
  return (await import('./plan-steps.ts')).openStep(turn, contract, tell);
}

/** The prompt of the plan's task that is open; null for every other loop. */
export async function openedPrompt(turn: Turn, told: Told): Promise<AssembledPrompt | null> {
  const contract = planContract(turn);
  if (contract === null) return null;
  return (await import('./plan-steps.ts')).promptStep(turn, contract, told);
}

/**
 * The prompt with which a launcher starts a client on a plan: its first task is opened. null where there is none to work
 * on: then the loop has ended, and says why. `loop` is a loop over a plan, its state as it stands on disk.
 */
export async function firstPlanPrompt(
  { files, stored, state }: Pick<StartedLoop, 'files' | 'stored' | 'state'>,
  told: Told,
  env: NodeJS.ProcessEnv,
  say: (text: string) => void,
): Promise<string | null> {
  const context = heardContext(files, env, '', '');
  const turn: Turn = {
    context,
    options: { timeoutMs: Number.POSITIVE_INFINITY, signal: new AbortController().signal, work: turnWork },
    deadline: Number.POSITIVE_INFINITY,
    notes: [],
    loaded: { kind: 'loop', state, policy: stored.contract.policy, stored, mended: null, orphaned: false },
    task: null,
  };
  const instead = await openPlan(turn, say);
  if (instead !== null) {
    carryOut(files, context.now(), instead);
    return null;
  }
  const prompt = await openedPrompt(turn, told);
  return prompt === null ? null : wholePrompt(prompt);
}
