import { existsSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

/** The names of the files that make a folder a task folder: its prompt, or a checklist that the agent keeps. */
export const RALPH_FILE = 'RALPH.md';
export const CHECKLIST_FILE = 'task.md';

/** The task file of a folder, by name; null where it holds none. */
export function taskFileIn(folder: string): string | null {
  return [RALPH_FILE, CHECKLIST_FILE].find((name) => existsSync(join(folder, name))) ?? null;
}

/** The absolute path of a task file's folder. `taskPath` is relative to the project, as the contract has it. */
export function taskFolder(projectDir: string, taskPath: string): string {
  return dirname(join(projectDir, taskPath));
}

/** What `{{ ralph.name }}` stands for: the folder's own name. */
export function taskFolderName(projectDir: string, taskPath: string): string {
  return basename(taskFolder(projectDir, taskPath));
}
