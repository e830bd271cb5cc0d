import type { CommandDefinition, Contract, EvidenceCommand } from '../../engine/schema/contract.ts';
import { taskCommand } from '../frontmatter/placeholders.ts';
import { changedScripts } from '../pinned-scripts/contract-scripts.ts';
import { namedScripts } from '../pinned-scripts/named-scripts.ts';
import { type CommandOutcome, runCommand } from './run-command.ts';
import { gateEnvironment } from './shell.ts';

export interface PinnedCommand extends CommandDefinition {
  readonly directory: string;
}

export interface PinnedOptions {
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onLine?: (line: string, command: string) => void;
}

export type PinnedEnd =
  | { readonly kind: 'changed'; readonly what: string }
  | { readonly kind: 'ran'; readonly outcome: CommandOutcome };

/** Runs it unless one of its scripts changed since the start. Rejects only with the abort's reason. */
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
  readonly iteration: number;
  /** Returns the guardrail that blocks this shell text in this absolute directory, or null. */
  readonly blockingRule?: (run: string, directory: string) => Promise<string | null>;
}

export type TaskCommandEnd = PinnedEnd | { readonly kind: 'blocked'; readonly rule: string };

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
