import { basename, dirname, join } from 'node:path';

/** The name of the file that makes a folder a task folder. */
export const RALPH_FILE = 'RALPH.md';

/** The absolute path of a task file's folder. `taskPath` is relative to the project, as the contract has it. */
export function taskFolder(projectDir: string, taskPath: string): string {
  return dirname(join(projectDir, taskPath));
}

/** What `{{ ralph.name }}` stands for: the folder's own name. */
export function taskFolderName(projectDir: string, taskPath: string): string {
  return basename(taskFolder(projectDir, taskPath));
}
