import type { CommandDefinition, Contract } from '../core/schema/contract.ts';
import { changedScripts } from './changed-scripts.ts';
import { gateEnvironment } from './gate-environment.ts';
import { namedScripts } from './named-scripts.ts';
import { type CommandOutcome, runCommand } from './run-command.ts';

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
