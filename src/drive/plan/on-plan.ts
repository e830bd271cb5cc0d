import type { AssembledPrompt } from '../../core/assemble-prompt.ts';
import type { Effect, Told } from '../../core/effects.ts';
import type { Contract } from '../../core/schema/contract.ts';
import type { Turn } from '../turn/turn.ts';

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
