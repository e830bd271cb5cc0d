import { existsSync } from 'node:fs';
import { basename, join, relative, resolve } from 'node:path';
import { checkTaskFile } from '../../src/task/check-task-file.ts';
import { RALPH_FILE } from '../../src/task/task-folder.ts';
import { printable } from '../../src/term/printable.ts';
import type { CommandContext } from './command.ts';
import { readTaskText } from './read-task-text.ts';
import { reviewTaskFile } from './review-draft.ts';
import { taskPlace } from './task-place.ts';

/** Written like a path and like nothing else. */
const PATH_ALONE = /^(?:\.{0,2}\/\S*|\S*\/|(?:\S*\/)?RALPH\.md)$/;

/**
 * The RALPH.md, absolute, of a task folder that is there and that the only word of `draft` names; null for the words of
 * a task. Throws `usage` for what is written like a path and names no task folder of the project.
 */
export function taskToOpen({ values, positionals, projectDir, err }: CommandContext): string | null {
  const [word, ...more] = positionals;
  if (word === undefined || more.length > 0 || values['name'] !== undefined) return null;
  const aPathAlone = PATH_ALONE.test(word);
  if (!aPathAlone && !isTask(resolve(word))) return null;
  const { dir, taskPath } = taskPlace(projectDir, word);
  if (!aPathAlone) {
    err(
      `ralph: ${word} is a task folder and is opened. To draft a task of these words: main.cjs draft --name NAME "${word}"`,
    );
  }
  return join(dir, basename(taskPath));
}

function isTask(path: string): boolean {
  return existsSync(basename(path) === RALPH_FILE ? path : join(path, RALPH_FILE));
}

/** Shows a RALPH.md that is there with what is wrong with it; at a terminal it can be edited and started. */
export async function openTask(context: CommandContext, path: string, mayAsk: boolean): Promise<number> {
  const shown = relative(process.cwd(), path);
  if (!mayAsk) return printTask(context, path, shown);
  if ((await reviewTaskFile(context, path, shown)) === 'leave') return 0;
  const { START_COMMAND } = await import('./start.ts');
  return START_COMMAND.run({ ...context, values: { ...context.values, task: path, launch: true }, positionals: [] });
}

/** Exit code 1 when there is an error in it, as `check` has it. */
function printTask({ forPeople, out, err }: CommandContext, path: string, shown: string): number {
  const text = readTaskText(path, shown);
  const { problems } = checkTaskFile(path, text);
  const ok = !problems.some(({ severity }) => severity === 'error');
  if (!forPeople) {
    out(JSON.stringify({ success: ok, path, problems, text }));
    return ok ? 0 : 1;
  }
  for (const { severity, line, message } of problems) err(`${severity}, line ${line ?? 1}: ${printable(message)}`);
  out(printable(text).trimEnd());
  return ok ? 0 : 1;
}
