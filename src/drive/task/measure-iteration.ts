import type { Contract } from '../../core/schema/contract.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { taskFolder } from '../../task/task-folder.ts';
import { compare, type Snapshot, snapshot } from '../../task/task-progress.ts';
import { type PromptedTurn, readPromptedTurn } from './prompted-turn.ts';

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
export function ofIteration(measured: Measured, iteration: number): Measured {
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
