import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import type { PromptedTurn } from '../../engine/schema/stored-views.ts';
import { checkShape } from '../../state/check-shape.ts';
import { readRecord, writeRecord } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** Stores the turn outside the project: the agent must not write the baseline of its own iteration. */
export function writePromptedTurn(files: LoopFiles, turn: PromptedTurn): void {
  writeRecord(files.promptedTurn, turn);
}

/** Returns the last stored turn of this loop; null if there is none, or the file is invalid. Never throws. */
export function readPromptedTurn(files: LoopFiles, loopId: string): PromptedTurn | null {
  const turn = readRecord<PromptedTurn>(files.promptedTurn);
  return checkShape(turn, shapes.promptedTurn) === null && turn?.loopId === loopId ? (turn as PromptedTurn) : null;
}
