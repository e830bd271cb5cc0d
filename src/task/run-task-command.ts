import type { Contract, EvidenceCommand } from '../core/schema/contract.ts';
import { changedScripts } from './changed-scripts.ts';
import { gateEnvironment } from './gate-environment.ts';
import { namedScripts } from './named-scripts.ts';
import { type CommandOutcome, runCommand } from './run-command.ts';
import { taskCommand } from './task-command.ts';

export interface TaskCommandOptions {
  /** Ends every process that was started. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** The iteration that the command belongs to, from 1. */
  readonly iteration: number;
  /** The guardrail that blocks this shell text in this directory (absolute), or null. */
  readonly judge?: (run: string, directory: string) => string | null;
  /** Each line of output as it comes, with the name of its command. */
  readonly onLine?: (line: string, command: string) => void;
}

export type TaskCommandEnd =
  | { readonly kind: 'blocked'; readonly rule: string }
  /** What of its scripts is not as it was at the start. */
  | { readonly kind: 'changed'; readonly what: string }
  | { readonly kind: 'ran'; readonly outcome: CommandOutcome };

/**
 * Runs one command of a task folder, unless a guardrail blocks it or a script that it names is not what it was at the
 * start. Rejects only with the abort's reason, once no process of it is left.
 */
export async function runTaskCommand(
  contract: Contract,
  projectDir: string,
  command: EvidenceCommand,
  options: TaskCommandOptions,
): Promise<TaskCommandEnd> {
  const { signal, env, onLine } = options;
  signal.throwIfAborted();
  const { run, directory } = taskCommand(contract, projectDir, command, options.iteration);
  const rule = options.judge?.(run, directory) ?? null;
  if (rule !== null) return { kind: 'blocked', rule };
  const named = namedScripts(projectDir, run, new Set(Object.keys(contract.scripts)), directory);
  const changed = changedScripts(contract, projectDir, named);
  if (changed.length > 0) return { kind: 'changed', what: changed.map(({ what }) => what).join(', ') };
  const outcome = await runCommand({
    run,
    directory,
    env: gateEnvironment(env),
    timeoutMs: command.timeoutSeconds * 1000,
    signal,
    ...(onLine && { onLine: (line: string) => onLine(line, command.name) }),
  });
  return { kind: 'ran', outcome };
}
