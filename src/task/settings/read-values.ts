import type { CommandRule, Guardrails, Policy, TaskTerms } from '../../engine/schema/contract.ts';
import { camelCase } from '../frontmatter/canonical-keys.ts';
import { PROGRESS_FILE, type TaskKind } from '../task-file.ts';
import { BY_FILE, type EffectiveValues, effectiveValues } from './defaults.ts';

/** Terms of a task file before its arguments have values. */
export interface TaskSettings extends Omit<TaskTerms, 'args' | 'commands'> {
  readonly args: readonly string[];
  readonly commands: EffectiveValues['commands'];
  readonly timeoutSeconds: number | null;
}

type Camel<K extends string> = K extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : K;

/** Renames the snake-case keys of a mapping in a task file. */
function camelKeys<T extends object>(values: T): { readonly [K in keyof T & string as Camel<K>]: T[K] } {
  const renamed = Object.entries(values).map(([key, value]) => [camelCase(key), value] as const);
  return Object.fromEntries(renamed) as { readonly [K in keyof T & string as Camel<K>]: T[K] };
}

/** Converts the values of all keys into the loop's policy and settings. */
export function readValues(values: EffectiveValues, kind: TaskKind) {
  const { completion_signal, completion_promise, signal_match, max_iterations, reinject, idle, ...others } = values;
  const { breaker, budget, max_tasks, background_wait, inter_iteration_delay, timeout, stop_on_error, ...rest } =
    others;
  const policy: Policy = {
    completion: completionOf(completion_promise, completion_signal, kind),
    signalMatch: signal_match,
    maxIterations: max_iterations,
    reinject,
    idle: idle && {
      delayMs: idle.delay,
      backoff: idle.backoff,
      maxDelayMs: idle.max_delay,
      maxMs: idle.max,
      wake: idle.wake,
      watch: [...idle.watch],
      maxQuietMs: idle.max_quiet,
    },
    breaker: camelKeys(breaker),
    budget: {
      maxCostUsd: budget.max_cost,
      maxTokens: budget.max_tokens,
      maxTimeMs: budget.max_time,
      ...(budget.stop_at && {
        stopAt: { five_hour: budget.stop_at.five_hour ?? null, seven_day: budget.stop_at.seven_day ?? null },
      }),
      warnAt: budget.warn_at,
    },
    ...(kind === 'plan' && { plan: { maxTasks: max_tasks, from: null } }),
    backgroundWaitMs: background_wait,
    pace: {
      delayMs: inter_iteration_delay * 1000,
      iterationTimeoutMs: timeout === null ? null : timeout * 1000,
      stopOnError: stop_on_error,
      tracksProgress: BY_FILE[kind].tracksProgress,
    },
  };
  const { args, commands, completion_gate, required_outputs, items_per_iteration, reflect_every, ...beside } = rest;
  const { open_questions, notify, guardrails, ...same } = beside;
  const task: TaskSettings = {
    args,
    commands,
    timeoutSeconds: timeout,
    gate: completion_gate,
    requiredOutputs: required_outputs.filter((path) => path !== PROGRESS_FILE),
    itemsPerIteration: items_per_iteration,
    reflectEvery: reflect_every || null,
    openQuestions: open_questions,
  };
  const settings = {
    ...camelKeys(same),
    notify: { ...notify, on: [...notify.on], command: notify.command && [...notify.command] },
    guardrails: guardrailsOf(guardrails),
    task,
  };
  return { policy, settings };
}

function completionOf(promise: string | null, signal: string | null, kind: TaskKind): Policy['completion'] {
  if (promise !== null) return { kind: 'promise', text: promise };
  return signal === null || BY_FILE[kind].completion === 'none' ? { kind: 'none' } : { kind: 'signal', text: signal };
}

function guardrailsOf(rules: EffectiveValues['guardrails']): Guardrails {
  const { block_commands, shell_policy, protected_files, private_files, lift, strict, ...unread } = rules;
  unread satisfies Record<string, never>;
  return {
    blockCommands: block_commands.map(ruleOf),
    shellAllow: shell_policy?.mode === 'allowlist' ? (shell_policy.allow ?? []) : null,
    protectedFiles: [...protected_files],
    privateFiles: [...private_files],
    strict,
    ...(lift && { lifted: lift }),
  };
}

function ruleOf(entry: EffectiveValues['guardrails']['block_commands'][number]): CommandRule {
  if (typeof entry === 'string') return entry;
  const reason = entry.reason ?? null;
  return 'pipeline' in entry
    ? { pipeline: entry.pipeline, reason }
    : { command: entry.command, args: entry.args ?? [], reason };
}

/** Returns the values of a prompt without frontmatter. */
export const plainValues = () => readValues(effectiveValues({}, 'prompt'), 'prompt');
