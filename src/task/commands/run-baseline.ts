import type { CheckResult } from '../../engine/events.ts';
import type { Contract } from '../../engine/schema/contract.ts';
import { checkTaskOutputs } from '../outputs/check-task-outputs.ts';
import { checkResult, requiredGate, runCheckCommands } from './gate.ts';
import { type Evidence, runEvidence } from './run-evidence.ts';
import type { TaskCommandOptions } from './run-pinned-command.ts';

export interface BaselineRun {
  /** In the order of the gate. */
  readonly results: readonly CheckResult[];
  /** Results of the task's commands, which the first prompt shows; empty if there are no checks that run. */
  readonly evidence: readonly Evidence[];
}

/**
 * Runs everything that the gate would check, whatever fails, except the findings log. The task's commands run once, also for
 * the first prompt. Rejects only with the abort's reason, after all processes have ended.
 */
export async function runBaseline(
  contract: Contract,
  projectDir: string,
  options: TaskCommandOptions,
): Promise<BaselineRun> {
  const task = requiredGate(contract);
  const results = task === null ? [] : checkTaskOutputs(projectDir, contract.taskPath, task);
  const accepted = (task?.commands ?? []).filter(({ acceptance }) => acceptance);
  if (accepted.length + contract.validation.length === 0) return { results, evidence: [] };
  const onCopy = contract.verifyIn !== undefined;
  const names = new Set(onCopy ? [] : accepted.map(({ name }) => name));
  const evidence = await runEvidence(contract, projectDir, {
    ...options,
    onCommand: (name) => {
      if (names.has(name)) options.onCheck?.(name);
    },
    onEnd: (command, end) => {
      if (names.has(command.name)) results.push(checkResult(command, end));
    },
  });
  results.push(...(await runCheckCommands(contract, projectDir, onCopy ? accepted : [], options)));
  return { results, evidence };
}
