import { realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { RalphError } from '../core/ralph-error.ts';
import { DEFAULT_TASK } from '../task/default-task.ts';
import { projectPath } from '../task/project-file.ts';
import { RALPH_FILE } from '../task/task-folder.ts';
import { START_TEXTS } from './texts.ts';

/**
 * The task file that `task` means, relative to the project, with `/`: itself, or the RALPH.md of a folder; null means
 * PROMPT.md. `task` is absolute or relative to the project. A task folder is named by where it really lies, so that it
 * has one loop however it was reached, and run state never leaves the project. Throws `task-missing` for what lies
 * outside the project, for a folder without a RALPH.md, and for what cannot be looked at.
 */
export function taskPathOf(projectDir: string, task: string | null): string {
  const named = resolve(projectDir, task ?? DEFAULT_TASK);
  const isFolder = kindOf(named) === 'folder';
  if (isFolder) refuseWithoutRalphFile(projectDir, named);
  const absolute = isFolder ? join(named, RALPH_FILE) : named;
  const taskPath =
    basename(absolute) === RALPH_FILE
      ? projectPath(real(projectDir), real(dirname(absolute)), RALPH_FILE)
      : // One of the two may have been named through a symbolic link.
        (projectPath(projectDir, projectDir, absolute) ?? projectPath(real(projectDir), '/', real(absolute)));
  if (taskPath === null) throw new RalphError('task-missing', START_TEXTS.taskOutside(absolute, projectDir));
  return taskPath;
}

function refuseWithoutRalphFile(projectDir: string, folder: string): void {
  const path = join(folder, RALPH_FILE);
  const kind = kindOf(path);
  const shown = relative(projectDir, folder) || '.';
  if (kind === null) throw new RalphError('task-missing', START_TEXTS.noRalphFile(shown));
  if (kind === 'folder') throw new RalphError('task-missing', START_TEXTS.taskUnreadable(path, 'it is a folder'));
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
