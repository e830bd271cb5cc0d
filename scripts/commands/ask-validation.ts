import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline/promises';
import { writeAtomically } from '../../src/state/write-atomically.ts';
import { addValidation } from '../../src/task/add-validation.ts';
import { checkTaskFile } from '../../src/task/check-task-file.ts';
import { DEFAULT_TASK } from '../../src/task/default-task.ts';
import type { CommandContext } from './command.ts';

/**
 * Asks, in a terminal, which commands must pass before the loop may complete, where its task file names none, and
 * writes the answers into its frontmatter. An empty answer goes on without.
 */
export async function askValidation(context: CommandContext, task: string | null): Promise<void> {
  const path = join(context.projectDir, task ?? DEFAULT_TASK);
  if (!existsSync(path)) return; // start says so, with what to do
  const text = readFileSync(path, 'utf8');
  const { kind, frontmatter } = checkTaskFile(path, text);
  // A task folder has a gate and acceptance commands of its own.
  if (kind !== 'prompt' || frontmatter === null || (frontmatter.validation?.length ?? 0) > 0) return;
  context.err('This task file names no command that must pass before the loop may complete.');
  context.err('Name them, one a line (such as: npm test); an empty line goes on.');
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  const commands: string[] = [];
  for (;;) {
    const answer = (await prompt.question('must pass: ')).trim();
    if (answer === '') break;
    commands.push(answer);
  }
  prompt.close();
  if (commands.length === 0) return;
  writeAtomically(path, addValidation(text, commands));
  context.err(`They stand under "validation:" in ${path} now.`);
}
