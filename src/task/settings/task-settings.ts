import type { CommandRule, Guardrails, TaskTerms } from '../../engine/schema/contract.ts';
import type { Policy } from '../../engine/schema/policy.ts';
import { type CommandValues, fillCommand } from '../commands/fill-command.ts';
import { commandTimeout } from '../frontmatter/cross-key-problems.ts';
import { ARGUMENT_NAME } from '../frontmatter/key-problems.ts';
import type { CommandEntry, Frontmatter } from '../frontmatter/schema.ts';
import type { TaskKind } from '../task-file.ts';
import { BY_FILE, DEFAULT_POLICY, NO_GUARDRAILS, PROGRESS_FILE } from './defaults.ts';

/** Terms of a task file before its arguments have values. */
export interface TaskSettings extends Omit<TaskTerms, 'args' | 'commands'> {
  readonly args: readonly string[];
  readonly commands: readonly CommandEntry[];
  readonly timeoutSeconds: number | null;
}

export function paceOf(merged: Frontmatter, kind: TaskKind): Policy['pace'] {
  const { delayMs } = DEFAULT_POLICY.pace;
  const { timeoutSeconds, stopOnError, tracksProgress } = BY_FILE[kind];
  const timeout = merged.timeout ?? timeoutSeconds;
  return {
    delayMs: merged.inter_iteration_delay === undefined ? delayMs : merged.inter_iteration_delay * 1000,
    iterationTimeoutMs: timeout === null ? null : timeout * 1000,
    stopOnError: merged.stop_on_error ?? stopOnError,
    tracksProgress,
  };
}

export function guardrailsOf({ guardrails = {} }: Frontmatter): Guardrails {
  const { block_commands, shell_policy, protected_files, private_files, lift, strict } = guardrails;
  return {
    blockCommands: (block_commands ?? []).map(ruleOf),
    shellAllow: shell_policy?.mode === 'allowlist' ? (shell_policy.allow ?? []) : NO_GUARDRAILS.shellAllow,
    protectedFiles: protected_files ?? [],
    privateFiles: private_files ?? [],
    strict: strict ?? NO_GUARDRAILS.strict,
    ...(lift && { lifted: lift }),
  };
}

type BlockEntry = NonNullable<NonNullable<Frontmatter['guardrails']>['block_commands']>[number];

function ruleOf(entry: BlockEntry): CommandRule {
  if (typeof entry === 'string') return entry;
  const reason = entry.reason ?? null;
  return 'pipeline' in entry
    ? { pipeline: entry.pipeline, reason }
    : { command: entry.command, args: entry.args ?? [], reason };
}

export function taskSettingsOf(merged: Frontmatter, kind: TaskKind): TaskSettings {
  return {
    args: merged.args ?? [],
    commands: merged.commands ?? [],
    timeoutSeconds: merged.timeout ?? BY_FILE[kind].timeoutSeconds,
    gate: merged.completion_gate ?? gateOf(merged, kind),
    requiredOutputs: (merged.required_outputs ?? []).filter((path) => path !== PROGRESS_FILE),
    itemsPerIteration: merged.items_per_iteration ?? null,
    reflectEvery: merged.reflect_every || null,
    openQuestions: merged.open_questions ?? BY_FILE[kind].openQuestions,
  };
}

/**
 * Default of completion_gate: required with a promise, or if there is something to check and a claim needs no promise.
 */
export function gateOf(
  { completion_promise, required_outputs = [], commands = [] }: Frontmatter,
  kind: TaskKind,
): TaskTerms['gate'] {
  const asks = required_outputs.length > 0 || commands.some(({ acceptance }) => acceptance === true);
  return completion_promise !== undefined || (BY_FILE[kind].completion !== 'none' && asks) ? 'required' : 'disabled';
}

/** Terms of the contract: commands with filled-in arguments and limits. */
export function taskTerms(settings: TaskSettings, values: CommandValues): TaskTerms {
  const { commands, gate, requiredOutputs, itemsPerIteration, reflectEvery, openQuestions, timeoutSeconds } = settings;
  return {
    args: values.args,
    commands: commands.map(({ name, run, timeout, acceptance }) => ({
      name,
      run: fillCommand(run, values),
      timeoutSeconds: commandTimeout(timeout, timeoutSeconds),
      acceptance: acceptance ?? false,
      directory: run.trimStart().startsWith('./') ? 'task' : 'project',
    })),
    gate,
    requiredOutputs: [...requiredOutputs],
    itemsPerIteration,
    reflectEvery,
    ...(openQuestions === 'optional' && { openQuestions }),
  };
}

export function argumentProblems(declared: readonly string[], given: Readonly<Record<string, string>>): string[] {
  const known = declared.length === 0 ? 'it declares none' : `it declares ${declared.join(', ')}`;
  const problems: string[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (!declared.includes(name)) {
      problems.push(`--arg ${name}: the task file has no argument of this name under "args:" (${known}).`);
    } else if (value.includes('\0')) problems.push(`--arg ${name}: a value cannot hold a NUL character.`);
  }
  for (const name of declared) {
    if (!Object.hasOwn(given, name))
      problems.push(`the argument "${name}" has no value. Give it: --arg ${name}=VALUE.`);
  }
  return problems;
}

export function readArguments(
  pairs: readonly string[],
): { readonly args: Readonly<Record<string, string>> } | { readonly problem: string } {
  const args: Record<string, string> = {};
  for (const pair of pairs) {
    const at = pair.indexOf('=');
    if (at === -1) return { problem: `--arg ${pair}: write it as name=value.` };
    const name = pair.slice(0, at);
    if (!ARGUMENT_NAME.test(name) || name === '__proto__') {
      const rule = 'letters, digits, "_" and "-", not beginning with "-"';
      return { problem: `--arg ${pair}: "${name}" is no name of an argument: ${rule}.` };
    }
    if (Object.hasOwn(args, name)) return { problem: `--arg ${name} was given twice. Give each argument once.` };
    args[name] = pair.slice(at + 1);
  }
  return { args };
}
