import { join, relative, sep } from 'node:path';
import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import type { Contract } from '../../engine/schema/contract.ts';
import type { PromptedTurn } from '../../engine/schema/stored-views.ts';
import { checkShape } from '../../state/check-shape.ts';
import { readRecord, writeAtomically, writeRecord } from '../../state/files/regular-file.ts';
import { type LoopFiles, makeRuntimeDir } from '../../state/loop-files.ts';
import { makeRunDir, refuseLink, runFiles } from '../../state/task-folder/run-files.ts';
import { redact } from '../../text/redact/redact.ts';

/** Stores the turn outside the project: the agent must not write the baseline of its own iteration. */
export function writePromptedTurn(files: LoopFiles, turn: PromptedTurn): void {
  writeRecord(files.promptedTurn, turn);
}

/** Returns the last stored turn of this loop; null if there is none, or the file is invalid. Never throws. */
export function readPromptedTurn(files: LoopFiles, loopId: string): PromptedTurn | null {
  const turn = readRecord<PromptedTurn>(files.promptedTurn);
  return checkShape(turn, shapes.promptedTurn) === null && turn?.loopId === loopId ? (turn as PromptedTurn) : null;
}

/** Writes the prompt to a file that an agent can be pointed to. Returns its path, relative to the project. */
export function keepPrompt(folder: string, whole: string, { taskPath }: Contract): string {
  const run = runFiles(folder);
  makeRunDir(run);
  const path = join(run.dir, 'prompt.md');
  refuseLink(path);
  writeAtomically(path, redact(whole), 0o600, 'nothing');
  return `${taskPath.slice(0, taskPath.lastIndexOf('/') + 1)}.ralph-runner/prompt.md`;
}

export function keepPlainPrompt(files: LoopFiles, whole: string): string {
  makeRuntimeDir(files);
  refuseLink(files.prompt);
  writeAtomically(files.prompt, redact(whole), 0o600, 'nothing');
  return relative(files.projectDir, files.prompt).split(sep).join('/');
}
