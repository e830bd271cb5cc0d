import type { Contract } from '../../engine/schema/contract.ts';

/** Returns the guardrail check of the contract, which resolves with the blocking rule or null. Never rejects. */
export function commandGuard({ guardrails }: Contract): (run: string, directory: string) => Promise<string | null> {
  return async (run, directory) => {
    if (guardrails.blockCommands.length === 0 && guardrails.shellAllow === null) return null;
    try {
      const { evaluateEvidence } = await import('../../guard/commands/evaluate-rules.ts');
      return evaluateEvidence(run, directory, guardrails);
    } catch (error) {
      return `it could not be checked: ${(error as Error).message}`;
    }
  };
}
