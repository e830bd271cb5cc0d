import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TaskTerms } from '../../../engine/schema/contract.ts';
import { findShell } from '../../../task/commands/run-command.ts';
import { OPEN_QUESTIONS } from '../../../task/outputs/open-questions.ts';
import { argumentProblems, taskTerms } from '../../../task/settings/build-contract.ts';
import { taskFolder, taskFolderName } from '../../../task/task-file.ts';
import { RalphError } from '../../../text/message.ts';
import { START_TEXTS } from '../../turn/messages.ts';
import type { ContractRequest, Resolved } from '../stages.ts';

/** Returns the terms of a task folder with the values of its arguments; null for another task. Throws `usage` for undeclared or missing arguments. */
export function taskTermsOf(
  { args: given = {}, formerArgs = {}, env, projectDir }: ContractRequest,
  taskPath: string,
  resolved: Resolved,
): TaskTerms | null {
  const { policy, settings } = resolved;
  if (settings.task === null) {
    const problems = argumentProblems([], given);
    if (problems.length === 0) return null;
    throw new RalphError('usage', problems.join('\n'));
  }
  const declared = settings.task.args;
  const former = Object.entries(formerArgs).filter(([name]) => declared.includes(name));
  const args = { ...Object.fromEntries(former), ...given };
  const problems = argumentProblems(declared, args);
  if (problems.length > 0) throw new RalphError('usage', problems.join('\n'));
  const values = { args, name: taskFolderName(projectDir, taskPath), maxIterations: policy.maxIterations };
  const terms = taskTerms(settings.task, values);
  // The values are quoted for a POSIX shell.
  const filled = terms.commands.some(({ run }, index) => run !== settings.task?.commands[index]?.run);
  const shell = filled ? findShell(env) : null;
  if (shell !== null && /(?:pwsh|powershell)\.exe$/i.test(shell.program))
    throw new RalphError('task-invalid', START_TEXTS.argsNeedBash);
  return withQuestions(terms, taskFolder(projectDir, taskPath), resolved);
}

/** Requires OPEN_QUESTIONS.md if the folder has one at the start, unless a setting says otherwise: it must not vanish then. */
function withQuestions(terms: TaskTerms, folder: string, { sources }: Resolved): TaskTerms {
  const { openQuestions, ...rest } = terms;
  const isSet = sources['open_questions'] !== 'default';
  return openQuestions === undefined || isSet || !existsSync(join(folder, OPEN_QUESTIONS)) ? terms : rest;
}
