import { digest } from '../../core/digest.ts';
import type { Contract } from '../../core/schema/contract.ts';
import { judgeEvidence } from '../../guard/judge-evidence.ts';
import { type Evidence, type EvidenceWatch, runEvidence } from '../../task/run-evidence.ts';
import type { TaskCommandOptions } from '../../task/run-task-command.ts';

/** The guardrail that blocks one of the contract's own commands. One that cannot be judged is blocked. Never throws. */
export function evidenceJudge({ guardrails }: Contract): (run: string, directory: string) => string | null {
  return (run, directory) => {
    try {
      return judgeEvidence(run, directory, guardrails);
    } catch (error) {
      return `it could not be checked: ${(error as Error).message}`;
    }
  };
}

/** Runs the commands of a task folder under the contract's guardrails. Rejects with the abort's reason alone. */
export function gatherEvidence(
  contract: Contract,
  projectDir: string,
  options: Omit<TaskCommandOptions, 'judge'> & EvidenceWatch,
): Promise<Evidence[]> {
  return runEvidence(contract, projectDir, { ...options, judge: evidenceJudge(contract) });
}

/**
 * What an idle agent has seen: the watched files, and what a task folder's commands showed (not how long they took).
 * null where nothing is watched.
 */
export function seenBy(
  watched: string | null,
  contract: Contract | undefined,
  evidence: readonly Pick<Evidence, 'name' | 'outcome' | 'output'>[],
): string | null {
  if (watched === null || !contract?.task || contract.task.commands.length === 0) return watched;
  return `${watched} ${digest(JSON.stringify(evidence.map(({ name, outcome, output }) => [name, outcome, output])))}`;
}
