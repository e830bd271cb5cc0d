import type { CheckResult } from '../../../../src/core/events.ts';
import { buildContract } from '../../../../src/task/build-contract.ts';
import type { ValidationEntry } from '../../../../src/task/frontmatter-schema.ts';
import { runGate } from '../../../../src/task/gate.ts';
import type { TaskCommandOptions } from '../../../../src/task/run-task-command.ts';
import { terms } from './terms.ts';

/** Our own runner's variable would make a node:test in a command believe that it is nested. */
const { NODE_TEST_CONTEXT: _, ...env } = process.env;
/** A bash warns of a language that the system does not have, and runs what BASH_ENV names, before any command. */
export const ENV: NodeJS.ProcessEnv = { ...env, LC_ALL: 'C', BASH_ENV: '' };

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
