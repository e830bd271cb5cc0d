import type { CommandDefinition, Contract, EvidenceCommand } from '../../engine/schema/contract.ts';
import { taskCommand } from '../frontmatter/placeholders.ts';
import { changedScripts } from '../pinned-scripts/contract-scripts.ts';
import { namedScripts } from '../pinned-scripts/named-scripts.ts';
import { type CommandOutcome, runCommand } from './run-command.ts';
import { gateEnvironment } from './shell.ts';

export interface PinnedCommand extends CommandDefinition {
  /** Absolute. */
  readonly directory: string;
}

export interface PinnedOptions {
  /** Ends every process that was started. */
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Each line of output as it comes, with the name of its command. */
  readonly onLine?: (line: string, command: string) => void;
}

export type PinnedEnd =
  /** What of its scripts is not as it was at the start, in a few words. */
  { readonly kind: 'changed'; readonly what: string } | { readonly kind: 'ran'; readonly outcome: CommandOutcome };

/**
 * Runs a command of the contract, unless a script that it names is not what it was at the start. Rejects only with the
 * abort's reason, once no process of it is left.
 */
export async function runPinnedCommand(
  contract: Pick<Contract, 'scripts'>,
  projectDir: string,
  command: PinnedCommand,
  { signal, env, onLine }: PinnedOptions,
): Promise<PinnedEnd> {
  signal.throwIfAborted();
  const changed = changedScripts(contract, projectDir, scriptsNamedBy(contract, projectDir, command));
  if (changed.length > 0) return { kind: 'changed', what: changed.map(({ what }) => what).join(', ') };
  const outcome = await runCommand({
    run: command.run,
    directory: command.directory,
    env: gateEnvironment(env),
    timeoutMs: command.timeoutSeconds * 1000,
    signal,
    ...(onLine && { onLine: (line: string) => onLine(line, command.name) }),
  });
  return { kind: 'ran', outcome };
}

/** The scripts of the contract that a command leads to now. */
export function scriptsNamedBy(
  { scripts }: Pick<Contract, 'scripts'>,
  projectDir: string,
  { run, directory }: Pick<PinnedCommand, 'run' | 'directory'>,
): string[] {
  return namedScripts(projectDir, run, new Set(Object.keys(scripts)), directory).filter((key) =>
    Object.hasOwn(scripts, key),
  );
}

export interface TaskCommandOptions extends PinnedOptions {
  /** The iteration that the command belongs to, from 1. */
  readonly iteration: number;
  /** The guardrail that blocks this shell text in this directory (absolute), or null. */
  readonly blockingRule?: (run: string, directory: string) => Promise<string | null>;
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
  const rule = (await options.blockingRule?.(resolved.run, resolved.directory)) ?? null;
  if (rule !== null) return { kind: 'blocked', rule };
  return runPinnedCommand(contract, projectDir, { ...command, ...resolved }, options);
}
