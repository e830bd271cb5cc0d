import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RalphError } from '../../src/core/ralph-error.ts';
import { bundleDir } from '../../src/install/bundle-dir.ts';
import { safePath } from '../../src/install/safe-path.ts';
import { IGNORED } from '../../src/state/loop-directory.ts';
import { writeAtomically } from '../../src/state/write-atomically.ts';
import { loopDirectoryTask } from '../../src/task/loop-directory.ts';
import { taskFileIn } from '../../src/task/task-folder.ts';
import { ask } from './ask.ts';
import type { CommandContext } from './command.ts';
import { writeTaskFile } from './new-task-folder.ts';
import { refuseArguments } from './refuse-arguments.ts';

/**
 * The task file, absolute, of the loop directory of this name: the one that is there, or a new one with the goal that
 * the user gives at the terminal. Throws `task-invalid` where a new one has to be filled in first.
 */
export async function loopDirectoryFile(context: CommandContext, name: string): Promise<string> {
  const { projectDir } = context;
  const shown = loopDirectoryTask(name);
  const path = safePath(projectDir, shown);
  const there = existsSync(dirname(path)) ? taskFileIn(dirname(path)) : null;
  if (there !== null) return join(dirname(path), there);
  refuseArguments(context, name);
  const template = readFileSync(join(bundleDir(), 'templates', 'task.md'), 'utf8');
  const goal = await askGoal(context, name);
  writeTaskFile(path, goal === '' ? template : withGoal(template, goal));
  writeAtomically(join(dirname(path), '.gitignore'), IGNORED);
  if (goal !== '') return path;
  throw new RalphError(
    'task-invalid',
    `${shown} is there now, made from the template. Write the goals into it, and the first items ("- [ ] what") where you know them, then: main.cjs run ${name}`,
  );
}

/** '' where nobody can be asked, or has no answer yet. */
async function askGoal({ forPeople, values, err }: CommandContext, name: string): Promise<string> {
  if (!forPeople || values['yes'] === true || process.stdin.isTTY !== true) return '';
  err(`There is no loop ${name} yet. Its directory will be ${dirname(loopDirectoryTask(name))}.`);
  return (await ask('What is to be achieved (an empty line only makes the file)? ')) ?? '';
}

function withGoal(template: string, goal: string): string {
  return template.replace(/^(# Goals\n\n)<!--[\s\S]*?-->/m, (_, heading: string) => `${heading}${goal}`);
}
