import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { regularFile, TASK_FILE_BYTES } from '../state/files/regular-file.ts';
import { runFiles } from '../state/task-folder/run-files.ts';
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
import { advise, type Message, RalphError } from '../text/message.ts';
import { orElse } from '../text/or-else.ts';
import { shellWord } from '../text/quote.ts';

/** Finds the task folder of a path, or of a loop directory's name. Throws `usage` for anything else. */
export function taskPlace(projectDir: string, word: string) {
  if (word === '') throw new RalphError('usage', 'the path is empty: name a task folder.');
  const path = resolve(pathNamed(projectDir, word));
  if (!existsSync(path)) {
    const what = /\.md$/i.test(word) && !hasFolder(taskKind(path)) ? 'file' : 'task folder';
    const text = `${word}: no such ${what} exists.`;
    throw new RalphError('usage', advise(text, 'List the loops with their tasks', 'list'));
  }
  const isFolder = statSync(path).isDirectory();
  if (!isFolder && !hasFolder(taskKind(path))) {
    const text = `${word} is neither a RALPH.md nor a plan of tasks. Name a task folder, or the RALPH.md or task.md in it.`;
    throw new RalphError('usage', advise(text, 'Check it as a plan', `plan check ${shellWord(word)}`));
  }
  const dir = realpathSync(isFolder ? path : dirname(path));
  if (taskFileIn(dir) === null && !existsSync(join(dir, '.ralph-runner'))) {
    throw new RalphError('usage', advise(`${word} has no RALPH.md.`, 'Create a task folder', 'scaffold NAME'));
  }
  const root = realpathSync(projectDir);
  const file = isFolder ? (taskFileIn(dir) ?? goneFile(dir)) : basename(path);
  const taskPath = projectPath(root, dir, file);
  if (taskPath === null) throw new RalphError('usage', `${word} is outside the project ${projectDir}.`);
  return {
    /** Absolute, symbolic links resolved. */
    dir,
    /** Its RALPH.md or task.md, relative to the project, `/` between its parts. The file itself may be gone. */
    taskPath,
    run: runFiles(dir),
  };
}

/** Returns the name of a missing task file, by the status of the folder's last run. */
function goneFile(dir: string): string {
  // The caller that shows the run state reports a problem.
  const path = orElse(() => readRunState(runFiles(dir))?.status?.taskPath, undefined);
  return path !== undefined && taskKind(path) === 'checklist' ? CHECKLIST_FILE : RALPH_FILE;
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

/** Reads a task file. Throws `task-missing` with the name `shown` if it cannot be read, with the text and advice of `missing` if there is none. */
export function readTaskText(path: string, shown: string, missing: Partial<Message> = {}): string {
  try {
    return readFileSync(regularFile(path, TASK_FILE_BYTES), 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT') {
      const why = code === 'EFBIG' ? 'it is larger than 8 MB' : (code ?? 'not a regular file');
      throw new RalphError('task-missing', `${shown} cannot be read (${why}).`, error);
    }
    const { text = '', ...advice } = missing;
    throw new RalphError('task-missing', { text: `${shown} does not exist.${text}`, ...advice }, error);
  }
}
