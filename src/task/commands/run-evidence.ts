import type { CheckResult } from '../../engine/events.ts';
import type { Contract, EvidenceCommand } from '../../engine/schema/contract.ts';
import type { CommandOutcome as CommandRecord } from '../../engine/schema/records.ts';
import { PREVIEW_LIMIT, shorten } from '../../text/quote.ts';
import { checkTaskOutputs } from '../outputs/check-task-outputs.ts';
import { changedText, checkResult, requiredGate, runCheckCommands } from './gate.ts';
import { endText } from './run-command.ts';
import { runTaskCommand, type TaskCommandEnd, type TaskCommandOptions } from './run-pinned-command.ts';

export interface Evidence extends CommandRecord {
  readonly exitCode: number | null;
  /** Text for the prompt, at most 12,000 characters; says how the command ended unless it succeeded. */
  readonly output: string;
  /** How the command ended, or why it was not run, in one line; absent if it succeeded. */
  readonly why?: string;
}

export interface EvidenceWatch {
  readonly onCommand?: (name: string) => void;
  readonly onEvidence?: (evidence: Evidence) => void;
  readonly onEnd?: (command: EvidenceCommand, end: TaskCommandEnd) => void;
}

/** Number of characters that `shorten` adds to a text of up to 12,000. */
const PREVIEW_MARK = 40;

/** Runs all commands, whatever their results. Rejects only with the abort reason, after all processes have ended. */
export async function runEvidence(
  contract: Contract,
  projectDir: string,
  options: TaskCommandOptions & EvidenceWatch,
): Promise<Evidence[]> {
  const found: Evidence[] = [];
  for (const command of contract.task?.commands ?? []) {
    options.onCommand?.(command.name);
    const began = performance.now();
    const end = await runTaskCommand(contract, projectDir, command, options);
    options.onEnd?.(command, end);
    const shown = evidence(command, end, Math.round(performance.now() - began));
    options.onEvidence?.(shown);
    found.push(shown);
  }
  options.signal.throwIfAborted();
  return found;
}

function evidence(command: EvidenceCommand, end: TaskCommandEnd, durationMs: number): Evidence {
  const { name } = command;
  if (end.kind !== 'ran') {
    const isBlocked = end.kind === 'blocked';
    const text = isBlocked ? `blocked by guardrail: ${shorten(end.rule, 2000)}` : changedText(shorten(end.what, 2000));
    const output = `[${text}]`;
    const reason = isBlocked ? `a guardrail blocks it: ${end.rule}` : `${end.what} since the loop started`;
    return {
      name,
      outcome: 'blocked',
      exitCode: null,
      durationMs,
      bytes: 0,
      truncated: false,
      output,
      preview: preview(output),
      why: shorten(`not run, ${reason}`, 300),
    };
  }
  const { output: printed, end: ended } = end.outcome;
  const isOk = ended.kind === 'exit' && ended.code === 0;
  const why = isOk ? null : endText(ended, `timed out after ${command.timeoutSeconds}s`);
  const note = why === null ? '' : `[${why}]`;
  const reserve = note === '' ? 0 : note.length + 1;
  const output = [printed.text(reserve), note].filter((part) => part !== '').join('\n');
  return {
    name,
    outcome: isOk ? 'ok' : ended.kind === 'timeout' ? 'timeout' : 'error',
    exitCode: ended.kind === 'exit' ? ended.code : null,
    durationMs,
    bytes: printed.bytes(),
    truncated: printed.isCut(reserve),
    output,
    preview: preview(output),
    ...(why !== null && { why }),
  };
}

function preview(output: string): string {
  return output.length <= PREVIEW_LIMIT ? output : shorten(output, PREVIEW_LIMIT - PREVIEW_MARK);
}

export interface BaselineRun {
  /** In the order of the gate. */
  readonly results: readonly CheckResult[];
  /** Results of the task's commands, which the first prompt shows. */
  readonly evidence: readonly Evidence[];
}

/**
 * Runs everything that the gate would check, except the findings log, whatever fails. The task's commands run once, also for
 * the first prompt. Rejects only with the abort reason, after all processes have ended.
 */
export async function runBaseline(
  contract: Contract,
  projectDir: string,
  options: TaskCommandOptions,
): Promise<BaselineRun> {
  const task = requiredGate(contract);
  const results: CheckResult[] = [];
  const accepted = (task?.commands ?? []).filter(({ acceptance }) => acceptance);
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
  // Outputs that these commands write are not the agent's work, so they are read afterwards.
  const outputs = task === null ? [] : checkTaskOutputs(projectDir, contract.taskPath, task);
  return { results: [...outputs, ...results], evidence };
}
