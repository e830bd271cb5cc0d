import type { CommandDefinition, Contract } from '../core/schema/contract.ts';
import { namedScripts } from './named-scripts.ts';
import { scriptHash } from './script-hash.ts';
import { taskCommand } from './task-command.ts';

type Terms = Pick<Contract, 'projectDir' | 'taskPath' | 'task'> & {
  readonly validation: readonly Pick<CommandDefinition, 'run'>[];
  readonly policy: Pick<Contract['policy'], 'maxIterations'>;
};

/**
 * The hashes that a contract keeps as `scripts`: of every file of the project that its validation commands and the
 * commands of its task folder name, in whatever iteration, by path relative to the project.
 */
export function scriptsOf(terms: Terms): Record<string, string> {
  const { projectDir, task } = terms;
  const keys = new Set(terms.validation.flatMap(({ run }) => namedScripts(projectDir, run)));
  for (const command of task?.commands ?? []) {
    const runs = new Map<string, string>();
    for (let iteration = 1; iteration <= terms.policy.maxIterations; iteration++) {
      const { run, directory } = taskCommand(terms, projectDir, command, iteration);
      runs.set(run, directory); // one and the same, unless it has the iteration's number in it
    }
    for (const [run, directory] of runs)
      for (const key of namedScripts(projectDir, run, new Set(), directory)) keys.add(key);
  }
  const scripts: Record<string, string> = {};
  for (const key of [...keys].toSorted()) {
    const hash = scriptHash(projectDir, key);
    if (hash !== null) scripts[key] = hash;
  }
  return scripts;
}
