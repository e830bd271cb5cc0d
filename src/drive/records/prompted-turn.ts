import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import { checkShape } from '../../state/check-shape.ts';
import { readRegularFile, removeIfThere } from '../../state/files/read-regular-file.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { Evidence } from '../../task/commands/run-evidence.ts';
import type { Snapshot } from '../../task/progress/snapshot.ts';

/** Facts about a task folder's iteration when its prompt was made, for the process that decides its end. */
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

/** Maximum size, above that of prompts, outputs and a bounded snapshot. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Returns the path, outside the project: the agent must not write what measures its iteration. */
export function promptedTurnPath({ outsideDir, name }: LoopFiles): string {
  return join(outsideDir, `turn${name === null ? '' : `.${name}`}.json`);
}

export function writePromptedTurn(files: LoopFiles, turn: PromptedTurn): void {
  const path = promptedTurnPath(files);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeAtomically(path, JSON.stringify(turn), 0o600);
}

/** Returns the last stored turn of this loop; null if there is none, or the file is invalid. Never throws. */
export function readPromptedTurn(files: LoopFiles, loopId: string): PromptedTurn | null {
  try {
    const turn = JSON.parse(readRegularFile(promptedTurnPath(files), MOST_BYTES) ?? 'null') as PromptedTurn;
    return checkShape(turn, shapes.promptedTurn) === null && turn.loopId === loopId ? turn : null;
  } catch {
    return null; // torn content
  }
}

export function dropPromptedTurn(files: LoopFiles): void {
  removeIfThere(promptedTurnPath(files));
}
