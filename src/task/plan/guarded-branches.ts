import type { Guardrails } from '../../core/schema/contract.ts';

/** Branches on which no plan is executed, and that its agent may not push to. */
export const MAIN_BRANCHES: readonly string[] = ['main', 'master'];

/** Those that hold for the agent under these guardrails. */
export function guardedBranches({ lifted = [] }: Guardrails): readonly string[] {
  return lifted.includes('push-main') ? [] : MAIN_BRANCHES;
}
