import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import { checkShape } from '../../state/check-shape.ts';
import { readRegularFile, removeIfThere } from '../../state/files/read-regular-file.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { Evidence } from '../../task/commands/run-evidence.ts';
import type { Snapshot } from '../../task/progress/snapshot.ts';

/**
 * What was known of a task folder's iteration when its prompt was made, kept for the Stop that ends it: another process
 * decides that one.
 */
export interface PromptedTurn {
  readonly loopId: string;
  /** The iteration that the prompt begins, counted from 1. */
  readonly iteration: number;
  readonly at: string;
  /** As it was sent. */
  readonly prompt: string;
  readonly evidence: readonly (Evidence & { readonly run: string })[];
  /** It asked the agent to reflect. */
  readonly reflected?: boolean;
  /** The project before the agent set to work. */
  readonly snapshot: Snapshot;
}

/** Prompts, outputs and a bounded snapshot come to less. */
const MOST_BYTES = 64 * 1024 * 1024;

/** Outside the project: what an iteration is measured by is not the agent's to write. */
export function promptedTurnPath({ outsideDir, name }: LoopFiles): string {
  return join(outsideDir, `turn${name === null ? '' : `.${name}`}.json`);
}

/** Throws what the system says. */
export function writePromptedTurn(files: LoopFiles, turn: PromptedTurn): void {
  const path = promptedTurnPath(files);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeAtomically(path, JSON.stringify(turn), 0o600);
}

/** The last turn of this loop that was noted; null where there is none, or anything else lies there. Never throws. */
export function readPromptedTurn(files: LoopFiles, loopId: string): PromptedTurn | null {
  try {
    const turn = JSON.parse(readRegularFile(promptedTurnPath(files), MOST_BYTES) ?? 'null') as PromptedTurn;
    return checkShape(turn, shapes.promptedTurn) === null && turn.loopId === loopId ? turn : null;
  } catch {
    return null; // a torn one
  }
}

export function dropPromptedTurn(files: LoopFiles): void {
  removeIfThere(promptedTurnPath(files));
}
