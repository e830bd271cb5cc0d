import type { Contract } from '../../engine/schema/contract.ts';

/** Returns the guardrail check for the contract's commands. Blocks what it cannot evaluate. Never rejects. */
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
