import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { regularFile, TASK_FILE_BYTES } from '../state/files/read-regular-file.ts';
import { type RunFiles, runFiles } from '../state/task-folder/run-files.ts';
import { readRunState } from '../state/task-folder/run-state.ts';
import { projectPath } from '../task/project-file.ts';
import {
  CHECKLIST_FILE,
  hasFolder,
  LOOP_DIRECTORIES,
  mayName,
  RALPH_FILE,
  taskFileIn,
  taskKind,
} from '../task/task-file.ts';
import { shellWord } from '../text/quote.ts';
import { RalphError } from '../text/ralph-error.ts';

/** A task folder of the project. */
export interface TaskPlace {
  /** Absolute, symbolic links resolved. */
  readonly dir: string;
  /** Its RALPH.md or task.md, relative to the project, `/` between its parts. The file itself may be gone. */
  readonly taskPath: string;
  readonly run: RunFiles;
}

/**
 * Finds the task folder of a word: the folder or its task file, from the current directory, or the name of a loop
 * directory. Throws `usage` for anything else, and outside the project.
 */
export function taskPlace(projectDir: string, word: string): TaskPlace {
  if (word === '') throw new RalphError('usage', 'the path is empty: name a task folder.');
  const path = resolve(pathNamed(projectDir, word));
  if (!existsSync(path)) {
    const what = /\.md$/i.test(word) && !hasFolder(taskKind(path)) ? 'file' : 'task folder';
    throw new RalphError(
      'usage',
      `${word}: there is no such ${what}. ralph-loop list shows what the loops of this project work on.`,
    );
  }
  const isFolder = statSync(path).isDirectory();
  if (!isFolder && !hasFolder(taskKind(path))) {
    throw new RalphError(
      'usage',
      `${word} is no RALPH.md, and no plan of tasks. Name a task folder, or the RALPH.md or task.md in it. What a plan lacks: ralph-loop plan check ${shellWord(word)}`,
    );
  }
  const dir = realpathSync(isFolder ? path : dirname(path));
  if (taskFileIn(dir) === null && !existsSync(join(dir, '.ralph-runner'))) {
    throw new RalphError('usage', `${word} is no task folder: it has no RALPH.md. ralph-loop scaffold NAME makes one.`);
  }
  const root = realpathSync(projectDir);
  const file = isFolder ? (taskFileIn(dir) ?? goneFile(dir)) : basename(path);
  const taskPath = projectPath(root, dir, file);
  if (taskPath === null) throw new RalphError('usage', `${word} lies outside the project ${projectDir}.`);
  return { dir, taskPath, run: runFiles(dir) };
}

/** Returns the name of a missing task file, by the status of the folder's last run. */
function goneFile(dir: string): string {
  try {
    const path = readRunState(runFiles(dir))?.status?.taskPath;
    return path !== undefined && taskKind(path) === 'checklist' ? CHECKLIST_FILE : RALPH_FILE;
  } catch {
    return RALPH_FILE; // the caller that shows the run state reports the problem
  }
}

/** Returns the only path among a command's words, or null. Throws `usage` for more. */
export function onePath(name: string, positionals: readonly string[]): string | null {
  const [path, ...more] = positionals;
  if (more.length === 0) return path ?? null;
  throw new RalphError('usage', `${name} takes one path, not ${positionals.length}. Quote a path with spaces.`);
}

/** Returns the loop directory, absolute, that a word names if no such path exists and it holds a task; else the word. */
export function pathNamed(projectDir: string, word: string): string {
  if (!mayName(word) || existsSync(resolve(word))) return word;
  const folder = join(projectDir, LOOP_DIRECTORIES, word);
  return existsSync(folder) && taskFileIn(folder) !== null ? folder : word;
}

/** Reads a task file. Throws `task-missing` with the name `shown` if it cannot be read, with `advice` if it is missing. */
export function readTaskText(path: string, shown: string, advice = ''): string {
  try {
    return readFileSync(regularFile(path, TASK_FILE_BYTES), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'ENOENT'
        ? `there is no such file. ${advice}`
        : `it cannot be read (${code === 'EFBIG' ? 'it is larger than 8 MB' : (code ?? 'no regular file')}).`;
    throw new RalphError('task-missing', `${shown}: ${why}`.trim(), error);
  }
}
