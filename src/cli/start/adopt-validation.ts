import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { modeOf, regularFile, TASK_FILE_BYTES, writeAtomically } from '../../state/files/regular-file.ts';
import { checkTaskFile } from '../../task/check/check-task-file.ts';
import { addValidation, extractValidationCommands } from '../../task/draft/add-validation.ts';
import { projectChecks } from '../../task/draft/project-signals.ts';
import { splitFrontmatter } from '../../task/frontmatter/split-frontmatter.ts';
import { DEFAULT_TASK, progressPath } from '../../task/task-file.ts';
import { printable } from '../../term/format.ts';
import { RalphError } from '../../text/message.ts';
import { agrees } from '../ask.ts';
import type { CommandContext } from '../command.ts';

/** Writes "## Validation Commands" into the frontmatter, where they are enforced, if the user agrees. */
export async function adoptValidation(context: CommandContext, task: string | null): Promise<boolean> {
  const path = join(context.projectDir, task ?? DEFAULT_TASK);
  const text = readFileSync(regularFile(path, TASK_FILE_BYTES), 'utf8');
  const commands = extractValidationCommands(splitFrontmatter(text).body);
  if (commands.length === 0)
    throw new RalphError('task-invalid', `${path} has no commands under "## Validation Commands".`);
  // The agent can change the text of a task file: the user must agree to exactly what they read.
  const veiled = commands.find((one) => printable(one) !== one);
  if (veiled !== undefined) {
    throw new RalphError(
      'task-invalid',
      `${path}: the command ${JSON.stringify(printable(veiled))} contains invisible characters. Remove them; nothing was written.`,
    );
  }
  context.err(
    `These commands would have to pass before the loop can complete:\n${commands.map((one) => `  ${one}`).join('\n')}`,
  );
  if (context.values['yes'] !== true && !(await agreed(context))) return false;
  writeAtomically(path, addValidation(text, commands), modeOf(path));
  context.err(`Added them to the frontmatter of ${path}.`);
  return true;
}

/** Offers to write the project's own checks into a plan without validation commands, before the plan's first start. */
export async function offerProjectChecks({ projectDir, env, err }: CommandContext, plan: string): Promise<void> {
  const path = join(projectDir, plan);
  if (existsSync(join(projectDir, progressPath(plan)))) return;
  const text = readFileSync(regularFile(path, TASK_FILE_BYTES), 'utf8');
  const { frontmatter } = checkTaskFile(path, text);
  if (frontmatter === null || (frontmatter.validation?.length ?? 0) > 0) return;
  const commands = projectChecks(projectDir, env);
  if (commands.length === 0) return;
  err(`This plan has no validation commands. The project has:\n${commands.map((one) => `  ${one}`).join('\n')}`);
  if (!(await agrees('Add them to the plan, so that every task has to pass them?'))) return;
  writeAtomically(path, addValidation(text, commands));
  err(`Added them under "validation:" in ${path}.`);
}

async function agreed(context: CommandContext): Promise<boolean> {
  if (!context.atTerminal)
    throw new RalphError('usage', 'Confirmation needs a terminal. To adopt these commands without one, pass --yes.');
  return agrees('Write them into the frontmatter?');
}
