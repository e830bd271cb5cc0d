import { resolve } from 'node:path';
import type { Contract, EvidenceCommand } from '../core/schema/contract.ts';
import { runOfIteration } from './placeholders.ts';
import { taskFolder } from './task-folder.ts';

/** What the shell gets for a command of a task folder in this iteration, and where it runs, absolute. */
export function taskCommand(
  contract: Pick<Contract, 'taskPath'>,
  projectDir: string,
  command: Pick<EvidenceCommand, 'run' | 'directory'>,
  iteration: number,
): { readonly run: string; readonly directory: string } {
  const inTask = command.directory === 'task';
  return {
    run: runOfIteration(command.run, iteration),
    directory: inTask ? taskFolder(resolve(projectDir), contract.taskPath) : resolve(projectDir),
  };
}
