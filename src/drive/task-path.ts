import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { RalphError } from '../core/ralph-error.ts';
import { DEFAULT_TASK } from '../task/default-task.ts';
import { projectPath } from '../task/project-file.ts';
import { CHECKLIST_FILE, RALPH_FILE, taskFileIn } from '../task/task-folder.ts';
import { START_TEXTS } from './texts.ts';

/**
 * The task file that `task` means, relative to the project, with `/`: itself, or the RALPH.md or task.md of a folder; null
 * means PROMPT.md. `task` is absolute or relative to the project. A task folder is named by where it really lies, so that it
 * has one loop however it was reached, and run state never leaves the project. Throws `task-missing` for what lies
 * outside the project, for a folder without a task file, and for what cannot be looked at.
 */
export function taskPathOf(projectDir: string, task: string | null): string {
  const named = resolve(projectDir, task ?? DEFAULT_TASK);
  const isFolder = kindOf(named) === 'folder';
  const absolute = isFolder ? join(named, taskFileOf(projectDir, named)) : named;
  const file = basename(absolute);
  const taskPath =
    file === RALPH_FILE || file === CHECKLIST_FILE
      ? projectPath(real(projectDir), real(dirname(absolute)), file)
      : // One of the two may have been named through a symbolic link.
        (projectPath(projectDir, projectDir, absolute) ?? projectPath(real(projectDir), '/', real(absolute)));
  if (taskPath === null) throw new RalphError('task-missing', START_TEXTS.taskOutside(absolute, projectDir));
  return taskPath;
}

function taskFileOf(projectDir: string, folder: string): string {
  const file = taskFileIn(folder) ?? RALPH_FILE;
  const path = join(folder, file);
  const kind = kindOf(path);
  if (kind === null) {
    throw new RalphError('task-missing', START_TEXTS.noTaskFile(relative(projectDir, folder) || '.'));
  }
  if (kind === 'folder') throw new RalphError('task-missing', START_TEXTS.taskUnreadable(path, 'it is a folder'));
  return file;
}

/** Of a file that is not there, the path as it was given: reading it will say so. */
function real(path: string): string {
  return kindOf(path) === null ? path : realpathSync(path);
}

function kindOf(path: string): 'folder' | 'file' | null {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return null;
    return found.isDirectory() ? 'folder' : 'file';
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new RalphError('task-missing', START_TEXTS.taskUnreadable(path, `${code}`), error);
  }
}
