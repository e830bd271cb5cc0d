import type { EvidenceCommand, TaskTerms } from '../../../../src/engine/schema/contract.ts';
import type { ContractTerms } from '../../../../src/task/settings/build-contract.ts';
import { terms } from '../../../support/contract-terms.ts';

interface TaskFolder extends Partial<Omit<TaskTerms, 'commands'>> {
  readonly commands?: readonly (Partial<EvidenceCommand> & { readonly run: string })[];
}

/** The terms of a loop over the task folder `tasks/one`. */
export function taskTerms(
  projectDir: string,
  { commands = [], ...task }: TaskFolder = {},
  more: Partial<ContractTerms> = {},
): ContractTerms {
  const defaults = { name: 'check', timeoutSeconds: 60, acceptance: false, directory: 'project' as const };
  return terms(projectDir, [], {
    taskPath: 'tasks/one/RALPH.md',
    task: {
      args: {},
      commands: commands.map((command) => ({ ...defaults, ...command })),
      gate: 'required',
      requiredOutputs: [],
      itemsPerIteration: null,
      reflectEvery: null,
      ...task,
    },
    ...more,
  });
}
