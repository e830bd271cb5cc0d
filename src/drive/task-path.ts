import { realpathSync, statSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { RalphError } from '../core/ralph-error.ts';
import { DEFAULT_TASK } from '../task/default-task.ts';
import { projectPath } from '../task/project-file.ts';
import { RALPH_FILE } from '../task/task-folder.ts';
import { START_TEXTS } from './texts.ts';

/**
 * The task file that `task` means, relative to the project, with `/`: itself, or the RALPH.md of a folder; null means
 * PROMPT.md. `task` is absolute or relative to the project. Throws `task-missing` for what lies outside the project,
 * and for a folder without a RALPH.md.
 */
export function taskPathOf(projectDir: string, task: string | null): string {
  const named = resolve(projectDir, task ?? DEFAULT_TASK);
  const isFolder = kindOf(named) === 'folder';
  if (isFolder && kindOf(join(named, RALPH_FILE)) === null) {
    throw new RalphError('task-missing', START_TEXTS.noRalphFile(relative(projectDir, named) || '.'));
  }
  const absolute = isFolder ? join(named, RALPH_FILE) : named;
  // One of the two may have been named through a symbolic link.
  const taskPath = projectPath(projectDir, projectDir, absolute) ?? projectPath(real(projectDir), '/', real(absolute));
  if (taskPath === null) throw new RalphError('task-missing', START_TEXTS.taskOutside(absolute, projectDir));
  return taskPath;
}

/** Of a file that is not there, the path as it was given: reading it will say so. */
function real(path: string): string {
  return kindOf(path) === null ? path : realpathSync(path);
}

function kindOf(path: string): 'folder' | 'file' | null {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return null;
  return found.isDirectory() ? 'folder' : 'file';
}
