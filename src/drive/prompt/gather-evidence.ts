import type { Contract } from '../../engine/schema/contract.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { Evidence, EvidenceWatch } from '../../task/commands/run-evidence.ts';
import type { TaskCommandOptions } from '../../task/commands/run-pinned-command.ts';
import { compare, type Snapshot, snapshot } from '../../task/progress/snapshot.ts';
import { taskFolder } from '../../task/task-file.ts';
import { digest } from '../../text/digest.ts';
import { type PromptedTurn, readPromptedTurn } from '../records/prompted-turn.ts';

/**
 * The guardrail that blocks one of the contract's own commands. One that cannot be judged is blocked. Never rejects. The
 * shell parser is loaded only where there are rules about commands.
 */
export function evidenceGuard({ guardrails }: Contract): (run: string, directory: string) => Promise<string | null> {
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

/** Runs the commands of a task folder under the contract's guardrails. Rejects with the abort's reason alone. */
export async function gatherEvidence(
  contract: Contract,
  projectDir: string,
  options: Omit<TaskCommandOptions, 'blockingRule'> & EvidenceWatch,
): Promise<Evidence[]> {
  options.signal.throwIfAborted();
  if (!contract.task?.commands.length) return [];
  const { runEvidence } = await import('../../task/commands/run-evidence.ts');
  return runEvidence(contract, projectDir, { ...options, blockingRule: evidenceGuard(contract) });
}

/**
 * What an idle agent has seen: the watched files, and what a task folder's commands showed (not how long they took).
 * null where nothing is watched.
 */
export function idleFingerprint(
  watched: string | null,
  contract: Contract | undefined,
  evidence: readonly Pick<Evidence, 'name' | 'outcome' | 'output'>[],
): string | null {
  if (watched === null || !contract?.task || contract.task.commands.length === 0) return watched;
  return `${watched} ${digest(JSON.stringify(evidence.map(({ name, outcome, output }) => [name, outcome, output])))}`;
}

/** What an iteration of a task folder began with, and what it changed. */
export interface Measured {
  /** null where nobody noted it: the prompt was a person's own, or the note could not be written. */
  readonly turn: PromptedTurn | null;
  readonly progress: 'yes' | 'no' | 'unknown';
  /** As far as they were noted. */
  readonly changedFiles: readonly string[];
  /** Which bounds cut a snapshot short. */
  readonly bounds: readonly string[];
  /** How the project stands now; null where that was not looked at. */
  readonly after: Snapshot | null;
}

const UNKNOWN: Measured = { turn: null, progress: 'unknown', changedFiles: [], bounds: [], after: null };

/** What was measured, where it is of this very iteration; else nothing is known. */
export function measuredFor(measured: Measured, iteration: number): Measured {
  return measured.turn?.iteration === iteration ? measured : UNKNOWN;
}

/**
 * Compares the project with what it was when the iteration's prompt was made. Never throws for what lies on the disk, and
 * gives up at once, with nothing known, when the signal says go: the iteration is decided all the same.
 */
export async function measureIteration(
  files: LoopFiles,
  contract: Contract,
  { env, signal }: { readonly env: NodeJS.ProcessEnv; readonly signal: AbortSignal },
): Promise<Measured> {
  const turn = readPromptedTurn(files, contract.loopId);
  if (turn === null) return UNKNOWN;
  const folder = taskFolder(files.projectDir, contract.taskPath);
  try {
    const after = await snapshot(files.projectDir, folder, { since: turn.snapshot, env, signal });
    const { progress, changedFiles, bounded } = compare(turn.snapshot, after);
    return { turn, progress, changedFiles, bounds: bounded, after };
  } catch (error) {
    if (!signal.aborted) throw error;
    return { ...UNKNOWN, turn, bounds: ['interrupted'] };
  }
}
