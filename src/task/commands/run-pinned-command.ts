import { join } from 'node:path';
import type { CommandDefinition, Contract, EvidenceCommand } from '../../engine/schema/contract.ts';
import { gateEnvironment } from '../../sandbox/environment.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { configFolder, homeFolder } from '../../state/home-folder.ts';
import { taskCommand } from '../frontmatter/placeholders.ts';
import type { GitView } from '../git/run-git.ts';
import { changedScripts } from '../pinned-scripts/contract-scripts.ts';
import { pinsOf } from '../pinned-scripts/named-scripts.ts';
import { changedPrograms } from '../pinned-scripts/pinned-programs.ts';
import type { CleanCopy } from './clean-copy.ts';
import { withDeciding } from './deciding-environment.ts';
import { hiddenExit } from './hidden-exit.ts';
import { type CommandOutcome, type CommandRun, isFromOutside, runCommand } from './run-command.ts';

interface PinnedCommand extends CommandDefinition {
  readonly directory: string;
}

interface PinnedOptions {
  readonly signal: AbortSignal;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onLine?: (line: string, command: string) => void;
  /** Clean copy in which the command runs instead of the project. */
  readonly copy?: Pick<CleanCopy, 'runIn' | 'env' | 'top' | 'lacks'>;
}

type PinnedTerms = Pick<Contract, 'scripts'> &
  Partial<Pick<Contract, 'programs' | 'environment' | 'sandbox' | 'mayChange'>>;

type PinnedEnd =
  | { readonly kind: 'changed'; readonly what: string }
  | { readonly kind: 'ran'; readonly outcome: CommandOutcome; readonly hidden: () => string | null };

/** Runs a command unless one of its scripts changed since the start. Rejects only with the abort reason. */
export async function runPinnedCommand(
  contract: PinnedTerms,
  projectDir: string,
  command: PinnedCommand,
  { signal, env, onLine, copy }: PinnedOptions,
): Promise<PinnedEnd> {
  signal.throwIfAborted();
  const { keys, programs } = pinsNamedBy(contract, projectDir, command);
  const changed = [
    ...changedScripts(contract, projectDir, keys).map(({ what }) => what),
    ...changedPrograms(contract, programs, env),
  ];
  if (changed.length > 0) return { kind: 'changed', what: changed.join(', ') };
  const whole: CommandRun = {
    run: command.run,
    directory: copy?.runIn(command.directory) ?? command.directory,
    env: namingTests(
      gateEnvironment(copy?.env ?? (contract.environment ? withDeciding(env, contract.environment) : env)),
      programs,
    ),
    timeoutMs: command.timeoutSeconds * 1000,
    signal,
    ...(contract.sandbox && { sandbox: { terms: contract.sandbox, writable: copy?.top ?? projectDir } }),
    ...(onLine && { onLine: (line: string) => onLine(line, command.name) }),
  };
  const first = await runCommand(whole);
  // An end from outside, for example because memory ran out, says nothing about the work: it runs once more.
  const outcome = isFromOutside(first.end) ? await runCommand(whole) : first;
  // A script that the task may change is for the agent to correct.
  const folder = contract.mayChange === undefined ? command.directory : '';
  return { kind: 'ran', outcome, hidden: () => hiddenExit(command.run, outcome.tests !== null, folder) };
}

/** Makes go and prove name each test: otherwise they report a package or file as passed even if all its tests were skipped. */
function namingTests(env: NodeJS.ProcessEnv, programs: ReadonlySet<string>): NodeJS.ProcessEnv {
  const named = programs.has('prove') ? { ...env, HARNESS_VERBOSE: '1' } : env;
  if (!programs.has('go')) return named;
  // As in go: the user's own flags are in the environment or else in the file of `go env -w`.
  const isMac = process.platform === 'darwin';
  const folder = isMac ? join(homeFolder(env), 'Library', 'Application Support') : configFolder(env);
  const file = env['GOENV'] || join(folder, 'go', 'env');
  const own = env['GOFLAGS'] || /^GOFLAGS=(.*)$/m.exec(readRegularFile(file) ?? '')?.[1] || '';
  return { ...named, GOFLAGS: `${own} -v`.trim() };
}

/** Returns the pinned keys of a contract that a command relies on, and the programs that it starts. */
export function pinsNamedBy(
  { scripts }: Pick<Contract, 'scripts'>,
  projectDir: string,
  { run, directory }: Pick<PinnedCommand, 'run' | 'directory'>,
): { readonly keys: string[]; readonly programs: ReadonlySet<string> } {
  const pins = pinsOf(projectDir, run, new Set(Object.keys(scripts)), directory);
  const keys = [...pins.scripts, ...pins.steering.keys()].filter((key) => Object.hasOwn(scripts, key));
  return { keys: [...new Set(keys)], programs: pins.programs };
}

export interface TaskCommandOptions extends PinnedOptions {
  readonly iteration: number;
  /** Folder for clean copies, and the loop's view of git, for checks that run on a copy of the project or of a commit. */
  readonly copies?: { readonly root: string; readonly view: GitView | null; readonly commit?: string };
  /** Returns the guardrail that blocks this shell text in this absolute directory, or null. */
  readonly blockingRule?: (run: string, directory: string) => Promise<string | null>;
  /** Called with the name of a check before its command runs. */
  readonly onCheck?: (name: string) => void;
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
