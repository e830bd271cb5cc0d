import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Baseline } from '../../engine/schema/proof.ts';
import { readRegularFile, writeAtomically } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { jsonOrNull } from '../../text/or-else.ts';

/** The open task: baseline of its attempts, and rules that the guard enforces. */
export interface OpenTask {
  readonly loopId: string;
  readonly id: string;
  readonly title: string;
  readonly text: string;
  /** Paths and globs relative to the project; empty means the whole project. */
  readonly scope: readonly string[];
  readonly planPath: string;
  readonly progressPath: string;
  /** HEAD and branch when the task was opened. */
  readonly commit: string;
  readonly branch: string;
  /** Files with uncommitted changes at that time, and the marks of their contents; absent in a file of an older version. */
  readonly dirty: readonly string[];
  readonly dirtyMarks?: Readonly<Record<string, string>>;
  /** Results of the checks at that time; absent if they are unknown. */
  readonly baseline?: Baseline;
  /** Results of the checks once the task is done. */
  readonly verified?: Baseline;
  /** Keys of the tasks that need no change, as the user started or resumed the loop. */
  readonly noChange?: readonly string[];
  /** Files hidden from git status at that time; null or absent if unknown. */
  readonly hidden?: readonly string[] | null;
  /** Files left by tasks that were begun and are not done, by task key. */
  readonly left?: Readonly<Record<string, readonly string[]>>;
  /** Plan and progress file as the engine left them; null if absent. */
  readonly plan: string;
  /** Target of the plan's link; null or absent for a plain file. */
  readonly planLink?: string | null;
  readonly progress: string | null;
  /** Original commit of a task that runs beside others, if its work was moved to `commit` since. */
  readonly openedAt?: string;
  /** Its own entries at the end of the progress file. */
  readonly entries?: string;
  /** Files in which the last move left conflict markers. */
  readonly conflicts?: readonly string[];
}

/** Path outside the project, where the agent cannot write. */
export function openTaskPath({ outsideDir, name }: LoopFiles): string {
  return join(outsideDir, `task${name === null ? '' : `.${name}`}.json`);
}

export function writeOpenTask(files: LoopFiles, task: OpenTask): void {
  const path = openTaskPath(files);
  const text = JSON.stringify(task);
  if (readRegularFile(path) === text) return;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeAtomically(path, text, 0o600);
}

export function readOpenTask(files: LoopFiles, loopId: string): OpenTask | null {
  const task = jsonOrNull(readRegularFile(openTaskPath(files)) ?? '') as OpenTask | null;
  return task?.loopId === loopId && Array.isArray(task.scope) ? task : null;
}
