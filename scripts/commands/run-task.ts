import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { RalphError } from '../../src/core/ralph-error.ts';
import { LOOP_DIRECTORIES, mayName } from '../../src/task/loop-directory.ts';
import { taskFileIn } from '../../src/task/task-folder.ts';
import type { CommandContext } from './command.ts';
import { loopDirectoryFile } from './new-loop-directory.ts';
import { refuseArguments } from './refuse-arguments.ts';

/**
 * The context with the task that the words behind `run` mean: a path, the name of a loop directory (made where there is
 * none), or a task in plain words, which is drafted and reviewed; null where the user wants it not to be started now.
 * Throws `usage` for what cannot be meant.
 */
export async function runTask(context: CommandContext): Promise<CommandContext | null> {
  const { positionals, values, projectDir } = context;
  const [word, ...more] = positionals;
  if (word === undefined) return context;
  if (more.length > 0) {
    throw new RalphError('usage', `one task at a time: ${positionals.join(', ')}. Quote a task in plain words.`);
  }
  if (values['task'] !== undefined) throw new RalphError('usage', 'the task is given twice: as TASK and as --task.');
  const withTask = (task: string): CommandContext => ({ ...context, values: { ...values, task } });
  if (isPath(word, projectDir)) return withTask(word);
  // Where a loop lies that is to be resumed, in this project or in a worktree, is found out by its name.
  if (mayName(word) && values['resume'] === true) return withTask(word);
  if (mayName(word)) return withTask(await loopDirectoryFile(context, word));
  if (/\s/.test(word.trim())) {
    refuseArguments(context, word.trim());
    const { draftToRun } = await import('./draft-to-run.ts');
    const path = await draftToRun(context, word.trim());
    return path === null ? null : withTask(path);
  }
  throw new RalphError(
    'usage',
    `there is no task ${word}. Name a file, a task folder, a loop, or say in plain words what is to be done.`,
  );
}

/** Written like a path, or one of a task that is there, from the current directory or from the project. */
function isPath(word: string, projectDir: string): boolean {
  if (/^[^\s]*[\\/]|\.md$/.test(word)) return true;
  return [resolve(word), resolve(projectDir, word)].some(
    (path) => existsSync(path) && (!statSync(path).isDirectory() || taskFileIn(path) !== null),
  );
}

/** The loop directory that a word names, absolute, where no such path is there and it holds a task; else the word as it is. */
export function pathNamed(projectDir: string, word: string): string {
  if (!mayName(word) || existsSync(resolve(word))) return word;
  const folder = join(projectDir, LOOP_DIRECTORIES, word);
  return existsSync(folder) && taskFileIn(folder) !== null ? folder : word;
}
