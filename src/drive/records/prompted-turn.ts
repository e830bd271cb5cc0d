import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import type { Snapshot } from '../../engine/schema/stored-views.ts';
import { checkShape } from '../../state/check-shape.ts';
import { readRecord, writeRecord } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { Evidence } from '../../task/commands/run-evidence.ts';

/** Facts about a task folder's iteration when its prompt was made, for the process that decides how it ended. */
export interface PromptedTurn {
  readonly loopId: string;
  /** Iteration that the prompt begins, from 1. */
  readonly iteration: number;
  readonly at: string;
  readonly prompt: string;
  readonly evidence: readonly (Evidence & { readonly run: string })[];
  readonly reflected?: boolean;
  readonly snapshot: Snapshot;
}

/** Stores the turn outside the project: the agent must not write the baseline of its own iteration. */
export function writePromptedTurn(files: LoopFiles, turn: PromptedTurn): void {
  writeRecord(files.promptedTurn, turn);
}

/** Returns the last stored turn of this loop; null if there is none, or the file is invalid. Never throws. */
export function readPromptedTurn(files: LoopFiles, loopId: string): PromptedTurn | null {
  const turn = readRecord<PromptedTurn>(files.promptedTurn);
  return checkShape(turn, shapes.promptedTurn) === null && turn?.loopId === loopId ? (turn as PromptedTurn) : null;
}
