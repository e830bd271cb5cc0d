import { dirname, resolve } from 'node:path';
import type { Contract, EvidenceCommand } from '../core/schema/contract.ts';

/** The folder of the contract's task file, absolute. */
export function taskFolder({ taskPath }: Pick<Contract, 'taskPath'>, projectDir: string): string {
  return resolve(projectDir, dirname(taskPath));
}

/** What the shell gets for a command of a task folder in this iteration, and where it runs, absolute. */
export function taskCommand(
  contract: Pick<Contract, 'taskPath'>,
  projectDir: string,
  command: Pick<EvidenceCommand, 'run' | 'directory'>,
  iteration: number,
): { readonly run: string; readonly directory: string } {
  return {
    run: command.run.replace(/\{\{\s*ralph\.iteration\s*\}\}/g, String(iteration)),
    directory: command.directory === 'task' ? taskFolder(contract, projectDir) : resolve(projectDir),
  };
}
