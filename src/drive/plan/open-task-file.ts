import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { readRegularFile, removeIfThere } from '../../state/files/read-regular-file.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** The task in work, as the engine opened it: what its attempts are measured by, and what the guard holds them to. */
export interface OpenTask {
  readonly loopId: string;
  readonly id: string;
  readonly title: string;
  /** The list item, as it stands in the plan. */
  readonly text: string;
  /** Paths and globs from the project; empty: the whole project. */
  readonly scope: readonly string[];
  readonly planPath: string;
  readonly progressPath: string;
  /** HEAD and its branch when the task was opened. */
  readonly commit: string;
  readonly branch: string;
  /** Files that were not committed then: they are not this task's. */
  readonly dirty: readonly string[];
  /** Files at which git was told not to look then; null or absent where that is not known. */
  readonly hidden?: readonly string[] | null;
  /** By the key of a task that was begun and is not done: files that it left. */
  readonly left?: Readonly<Record<string, readonly string[]>>;
  /** The plan and the progress file as the engine left them; null where there was none. */
  readonly plan: string;
  /** What the plan's name linked to then; null or absent where it was the file itself. */
  readonly planLink?: string | null;
  readonly progress: string | null;
}

const MOST_BYTES = 8 * 1024 * 1024;

/** Outside the project: what a task is measured by is not the agent's to write. */
function openTaskPath({ outsideDir, name }: LoopFiles): string {
  return join(outsideDir, `task${name === null ? '' : `.${name}`}.json`);
}

/** Throws what the system says. */
export function writeOpenTask(files: LoopFiles, task: OpenTask): void {
  const path = openTaskPath(files);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeAtomically(path, JSON.stringify(task), 0o600);
}

/** The open task of this loop, or null. Never throws. */
export function readOpenTask(files: LoopFiles, loopId: string): OpenTask | null {
  try {
    const task = JSON.parse(readRegularFile(openTaskPath(files), MOST_BYTES) ?? 'null') as OpenTask | null;
    return task?.loopId === loopId && Array.isArray(task.scope) ? task : null;
  } catch {
    return null;
  }
}

export function dropOpenTask(files: LoopFiles): void {
  removeIfThere(openTaskPath(files));
}
