import type { CheckResult } from '../../../../src/engine/events.ts';
import { runGate } from '../../../../src/task/commands/gate.ts';
import type { TaskCommandOptions } from '../../../../src/task/commands/run-pinned-command.ts';
import type { ValidationEntry } from '../../../../src/task/frontmatter/schema.ts';
import { buildContract } from '../../../../src/task/settings/build-contract.ts';
import { terms } from '../../../support/contract-terms.ts';
import { ENV } from '../../../support/environment.ts';

/** Options of a gate that nobody interrupts. */
export const OPTIONS: TaskCommandOptions = { signal: new AbortController().signal, env: ENV, iteration: 1 };

/** What the gate of a loop on a prompt says in this directory. */
export function gate(
  directory: string,
  validation: readonly ValidationEntry[],
  more: Partial<TaskCommandOptions> = {},
): Promise<CheckResult[]> {
  const { contract } = buildContract(terms(directory, validation));
  return runGate(contract, directory, { ...OPTIONS, ...more });
}
