import { resolve } from 'node:path';
import type { CheckResult } from '../core/events.ts';
import type { CommandDefinition, Contract } from '../core/schema/contract.ts';
import { isVacuous } from '../core/vacuous-green.ts';
import { changedScripts } from './changed-scripts.ts';
import { checkFindingsLog } from './check-findings-log.ts';
import { checkTaskOutputs } from './check-task-outputs.ts';
import type { CommandOutcome } from './run-command.ts';
import { runPinnedCommand, scriptsNamedBy } from './run-pinned-command.ts';
import { runTaskCommand, type TaskCommandEnd, type TaskCommandOptions } from './run-task-command.ts';
import { taskCommand } from './task-command.ts';

/**
 * Checks a claim of completion. A task folder whose gate is required: its outputs and OPEN_QUESTIONS.md, then, where
 * these are ready and no finding is open, its acceptance commands. Every loop: the validation commands of the contract,
 * one after the other, and the findings log. A command whose script is not what it was at the start is not run. Gives no
 * result where there is nothing to check. The iteration is the one that made the claim. Rejects only with the abort's reason, once no process of the gate is left.
 */
export async function runGate(
  contract: Contract,
  projectDir: string,
  options: TaskCommandOptions,
): Promise<CheckResult[]> {
  options.signal.throwIfAborted();
  const task = contract.task?.gate === 'required' ? contract.task : null;
  const findings = checkFindingsLog(projectDir, contract.findingsLog);
  const results = task === null ? [] : checkTaskOutputs(projectDir, contract.taskPath, task.requiredOutputs);
  const isReady = findings === null && results.every(({ outcome }) => outcome === 'ok');
  const cheap = results.length;
  for (const command of task?.commands ?? []) {
    if (!isReady || !command.acceptance) continue;
    const end = await runTaskCommand(contract, projectDir, command, options);
    results.push(checkResult(command, end));
  }
  for (const command of contract.validation) {
    const end = await runPinnedCommand(contract, projectDir, { ...command, directory: resolve(projectDir) }, options);
    results.push(checkResult(command, end));
  }
  // Where no command was to be run, a script proves nothing, changed or not.
  if (results.length > cheap) results.push(...changedByThemselves(contract, projectDir, options.iteration));
  if (findings !== null) results.push(findings);
  return results;
}

/** Scripts that a command led to only through one that has changed itself (a package.json that is gone). */
function changedByThemselves(contract: Contract, projectDir: string, iteration: number): CheckResult[] {
  const unnamed = new Set(Object.keys(contract.scripts));
  const commands = [
    ...contract.validation.map(({ run }) => ({ run, directory: resolve(projectDir) })),
    ...(contract.task?.commands ?? []).map((command) => taskCommand(contract, projectDir, command, iteration)),
  ];
  for (const command of commands) {
    for (const key of scriptsNamedBy(contract, projectDir, command)) unnamed.delete(key);
  }
  return changedScripts(contract, projectDir, [...unnamed]).map(({ key, what }) => ({
    name: key,
    outcome: 'changed',
    detail: changedText(what),
  }));
}

function checkResult({ name, timeoutSeconds }: CommandDefinition, end: TaskCommandEnd): CheckResult {
  switch (end.kind) {
    case 'blocked':
      return { name, outcome: 'unavailable', detail: `it was not run, since a guardrail blocks it: ${end.rule}` };
    case 'changed':
      return { name, outcome: 'changed', detail: changedText(end.what) };
    case 'ran':
      return { name, ...verdict(end.outcome, timeoutSeconds) };
    default:
      return end satisfies never;
  }
}

function verdict({ end, output, tests }: CommandOutcome, timeoutSeconds: number): Omit<CheckResult, 'name'> {
  const printed = output.text();
  const with_ = (text: string): string => (printed === '' ? `${text} It printed nothing.` : `${text}\n${printed}`);
  switch (end.kind) {
    case 'exit':
      if (end.code !== 0) return { outcome: 'failed', detail: with_(`exit code ${end.code}.`) };
      if (!isVacuous(tests)) return { outcome: 'ok', detail: 'exit code 0.' };
      return {
        outcome: 'vacuous',
        detail: with_('exit code 0, but by its own count it executed no test, which proves nothing.'),
      };
    case 'signal':
      return { outcome: 'failed', detail: with_(`ended by ${end.signal}.`) };
    case 'timeout':
      return { outcome: 'timeout', detail: with_(`not done after ${timeoutSeconds} s, so it was ended.`) };
    case 'unavailable':
      return { outcome: 'unavailable', detail: `it could not be started: ${end.why}.` };
    default:
      return end satisfies never;
  }
}

function changedText(what: string): string {
  return `${what} since the loop started, so it was not run. Put it back as it was; where the change is right, ask the user to adopt it with: main.cjs accept.`;
}
