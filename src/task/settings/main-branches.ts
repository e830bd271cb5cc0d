import type { Guardrails } from '../../engine/schema/contract.ts';

/** Branches on which no plan runs, and to which a plan's agent may not push. */
export const MAIN_BRANCHES: readonly string[] = ['main', 'master'];

/** Returns the branches to which the agent may not push under these guardrails. */
export function guardedBranches({ lifted = [] }: Guardrails): readonly string[] {
  return lifted.includes('push-main') ? [] : MAIN_BRANCHES;
}
