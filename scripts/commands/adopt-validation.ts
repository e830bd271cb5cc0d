import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { RalphError } from '../../src/core/ralph-error.ts';
import { writeAtomically } from '../../src/state/write-atomically.ts';
import { addValidation } from '../../src/task/add-validation.ts';
import { DEFAULT_TASK } from '../../src/task/default-task.ts';
import { extractValidationCommands } from '../../src/task/extract-validation-commands.ts';
import { splitFrontmatter } from '../../src/task/split-frontmatter.ts';
import { printable } from '../../src/term/printable.ts';
import { agrees } from './ask.ts';
import type { CommandContext } from './command.ts';

/**
 * Shows the commands of the task file's "## Validation Commands" and, after a yes, writes them into its frontmatter,
 * where they are enforced. false when the user said no.
 */
export async function adoptValidation(context: CommandContext, task: string | null): Promise<boolean> {
  const path = join(context.projectDir, task ?? DEFAULT_TASK);
  const text = readFileSync(path, 'utf8');
  const commands = extractValidationCommands(splitFrontmatter(text).body);
  if (commands.length === 0) {
    throw new RalphError('task-invalid', `${path} has no commands under "## Validation Commands".`);
  }
  // The text of a task file is the agent's to change: what the user agrees to must be what they read.
  const veiled = commands.find((one) => printable(one) !== one);
  if (veiled !== undefined) {
    throw new RalphError(
      'task-invalid',
      `${path}: the command ${JSON.stringify(printable(veiled))} holds characters that nobody sees. Take them out; nothing was written.`,
    );
  }
  context.err(
    `These commands would have to pass before the loop may complete:\n${commands.map((one) => `  ${one}`).join('\n')}`,
  );
  if (context.values['yes'] !== true && !(await agreed(context))) return false;
  writeAtomically(path, addValidation(text, commands));
  context.err(`They stand in the frontmatter of ${path} now.`);
  return true;
}

async function agreed(context: CommandContext): Promise<boolean> {
  if (!context.forPeople) throw new RalphError('usage', 'nobody is here to agree; give --yes to adopt these commands.');
  return agrees('Write them into the frontmatter?');
}
