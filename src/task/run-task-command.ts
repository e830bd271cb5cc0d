import type { Contract, EvidenceCommand } from '../core/schema/contract.ts';
import { type PinnedEnd, type PinnedOptions, runPinnedCommand } from './run-pinned-command.ts';
import { taskCommand } from './task-command.ts';

export interface TaskCommandOptions extends PinnedOptions {
  /** The iteration that the command belongs to, from 1. */
  readonly iteration: number;
  /** The guardrail that blocks this shell text in this directory (absolute), or null. */
  readonly judge?: (run: string, directory: string) => string | null;
}

export type TaskCommandEnd = PinnedEnd | { readonly kind: 'blocked'; readonly rule: string };

/** Runs one command of a task folder as `runPinnedCommand` does, unless a guardrail blocks what would really run. */
export async function runTaskCommand(
  contract: Contract,
  projectDir: string,
  command: EvidenceCommand,
  options: TaskCommandOptions,
): Promise<TaskCommandEnd> {
  const resolved = taskCommand(contract, projectDir, command, options.iteration);
  const rule = options.judge?.(resolved.run, resolved.directory) ?? null;
  if (rule !== null) return { kind: 'blocked', rule };
  return runPinnedCommand(contract, projectDir, { ...command, ...resolved }, options);
}
