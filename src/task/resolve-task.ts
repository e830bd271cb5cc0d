import type { CommandRule, Guardrails, TaskTerms } from '../core/schema/contract.ts';
import type { Policy } from '../core/schema/policy.ts';
import type { Frontmatter } from './frontmatter-schema.ts';
import type { CommandEntry } from './frontmatter-task-folder.ts';
import { DEFAULT_POLICY, NO_GUARDRAILS } from './policy-defaults.ts';
import { ITERATION_TIMEOUT_SECONDS, PROGRESS_FILE } from './task-folder-defaults.ts';
import { hasFolder, type TaskKind } from './task-kind.ts';

/** What a RALPH.md says beside the policy, before its arguments have values. */
export interface TaskSettings extends Omit<TaskTerms, 'args' | 'commands'> {
  /** Names, each of which needs a value. */
  readonly args: readonly string[];
  readonly commands: readonly CommandEntry[];
  /** Of one iteration. */
  readonly timeoutSeconds: number;
}

export function paceOf(merged: Frontmatter, kind: TaskKind): Policy['pace'] {
  const { delayMs, iterationTimeoutMs, stopOnError } = DEFAULT_POLICY.pace;
  const ofFolder = kind === 'ralph-md';
  const timeout = merged.timeout ?? (ofFolder ? ITERATION_TIMEOUT_SECONDS : null);
  return {
    delayMs: merged.inter_iteration_delay === undefined ? delayMs : merged.inter_iteration_delay * 1000,
    iterationTimeoutMs: timeout === null ? iterationTimeoutMs : timeout * 1000,
    stopOnError: merged.stop_on_error ?? (ofFolder || stopOnError),
    tracksProgress: hasFolder(kind),
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
    timeoutSeconds: merged.timeout ?? ITERATION_TIMEOUT_SECONDS,
    gate: merged.completion_gate ?? gateOf(merged, kind),
    requiredOutputs: (merged.required_outputs ?? []).filter((path) => path !== PROGRESS_FILE),
    itemsPerIteration: merged.items_per_iteration ?? null,
    reflectEvery: merged.reflect_every || null,
  };
}

/** A checklist makes its claim without a promise: what it names for a gate would do nothing under none. */
export function gateOf(
  { completion_promise, required_outputs = [], commands = [] }: Frontmatter,
  kind: TaskKind,
): TaskTerms['gate'] {
  const asks = required_outputs.length > 0 || commands.some(({ acceptance }) => acceptance === true);
  return completion_promise !== undefined || (kind === 'checklist' && asks) ? 'required' : 'disabled';
}
