import type { TaskTerms } from '../core/schema/contract.ts';
import { commandTimeout } from './cross-key-problems.ts';
import { type CommandValues, fillCommand } from './fill-command.ts';
import type { TaskSettings } from './resolve-task.ts';

/** What the contract of a task folder's loop says: the commands with their arguments filled in and their limits. */
export function taskTerms(settings: TaskSettings, values: CommandValues): TaskTerms {
  const { commands, gate, requiredOutputs, itemsPerIteration, reflectEvery, timeoutSeconds } = settings;
  return {
    args: values.args,
    commands: commands.map(({ name, run, timeout, acceptance }) => ({
      name,
      run: fillCommand(run, values),
      timeoutSeconds: commandTimeout(timeout, timeoutSeconds),
      acceptance: acceptance ?? false,
      directory: run.trimStart().startsWith('./') ? 'task' : 'project',
    })),
    gate,
    requiredOutputs: [...requiredOutputs],
    itemsPerIteration,
    reflectEvery,
  };
}
