import type { Guardrails } from '../../engine/schema/contract.ts';
import type { Policy } from '../../engine/schema/policy.ts';
import { commandTimeoutProblems, completeIdle, idleProblems } from '../frontmatter/cross-key-problems.ts';
import { keyPath, type Problem } from '../frontmatter/problem.ts';
import { type Frontmatter, TASK_KEYS, type ValidationEntry } from '../frontmatter/schema.ts';
import { hasFolder, type TaskKind, takesTaskKeys } from '../task-file.ts';
import {
  BREAKER,
  BUDGET,
  BY_FILE,
  COMPLETION_SIGNAL,
  DEFAULT_POLICY,
  FINDINGS_LOG,
  IDLE,
  MAX_TASKS,
  NOTIFY,
} from './defaults.ts';
import { KEY_PATHS, type Layer, type SettingSources, type Source, settingLayers } from './layers.ts';
import { guardrailsOf, paceOf, type TaskSettings, taskSettingsOf } from './task-settings.ts';

/** Settings beside the policy. null: the client's own. */
export interface Settings {
  readonly validation: readonly ValidationEntry[];
  readonly findingsLog: string;
  readonly agent: string | null;
  readonly model: string | null;
  readonly effort: string | null;
  readonly permissionMode: string | null;
  readonly isolation: 'project' | 'client';
  readonly worktreeSetup: string | null;
  readonly notify: typeof NOTIFY;
  readonly guardrails: Guardrails;
  readonly commitFooters: readonly string[];
  /** null for a plan, a list of scenarios, and a prompt file without any of these keys. */
  readonly task: TaskSettings | null;
}

export type ResolvedPolicy =
  | {
      readonly ok: true;
      readonly policy: Policy;
      readonly settings: Settings;
      /** Source of each key by path: `idle.delay`. */
      readonly sources: Readonly<Record<string, Source>>;
      readonly problems: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Resolves policy and settings key by key from all layers. An invalid value is an error in every layer, even if another
 * layer overrides it.
 */
export function resolvePolicy(input: SettingSources): ResolvedPolicy {
  const { layers, problems } = settingLayers(input);
  const merged = merge(layers);
  const sources = sourcesOf(layers);
  problems.push(...together(merged, sources, input.kind));
  if (problems.some(({ severity }) => severity === 'error')) return { ok: false, problems };
  const policy = policyOf(merged, sources, input.kind);
  return { ok: true, policy, settings: settingsOf(merged, sources, input.kind), sources, problems };
}

/** Merges groups key by key, lists as a whole. */
function merge(layers: readonly Layer[]): Frontmatter {
  const merged: Frontmatter = {};
  for (const { settings } of layers.toReversed()) {
    const { idle, breaker, budget, guardrails, notify } = merged;
    Object.assign(merged, settings);
    if (idle) merged.idle = { ...idle, ...settings.idle };
    if (breaker) merged.breaker = { ...breaker, ...settings.breaker };
    if (budget) merged.budget = { ...budget, ...settings.budget };
    if (guardrails) merged.guardrails = { ...guardrails, ...settings.guardrails };
    if (notify) merged.notify = { ...notify, ...settings.notify };
  }
  return merged;
}

function sourcesOf(layers: readonly Layer[]): Record<string, Source> {
  const holds = (settings: Frontmatter, path: string): boolean =>
    path.split('.').reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], settings) !==
    undefined;
  return Object.fromEntries(
    KEY_PATHS.map((path) => [path, layers.find(({ settings }) => holds(settings, path))?.source ?? 'default']),
  );
}

/** Checks that need the effective values. */
function together(merged: Frontmatter, sources: Readonly<Record<string, Source>>, kind: TaskKind): Problem[] {
  const problems: Problem[] = [];
  const { iterationCap: cap, timeoutSeconds } = BY_FILE[kind];
  const wanted = merged.max_iterations;
  if (wanted !== undefined && wanted > cap) {
    const message = `max_iterations must be an integer from 1 to ${cap} for this kind of task, but is ${wanted} (from the ${sources['max_iterations']}).`;
    const place = { path: 'max_iterations', line: null, column: null };
    problems.push({ ...place, value: wanted, rule: 'range', message, severity: 'error' });
  }
  for (const { keys, ...problem } of merged.idle ? idleProblems(merged.idle) : []) {
    const path = keyPath(keys);
    const from = [path, 'idle.delay'].map((key) => `${key} from the ${sources[key]}`).join(', ');
    const message = `${problem.message.replace(/\.$/, '')} (${from}).`;
    problems.push({ ...problem, message, path, line: null, column: null });
  }
  for (const { keys, ...problem } of takesTaskKeys(kind) ? commandTimeoutProblems(merged, timeoutSeconds) : []) {
    problems.push({ ...problem, path: keyPath(keys), line: null, column: null });
  }
  return problems;
}

function policyOf(merged: Frontmatter, sources: Readonly<Record<string, Source>>, kind: TaskKind): Policy {
  const { breaker = {}, budget = {} } = merged;
  return {
    completion: completionOf(merged, sources, kind),
    signalMatch: merged.signal_match ?? DEFAULT_POLICY.signalMatch,
    maxIterations: merged.max_iterations ?? BY_FILE[kind].maxIterations,
    reinject: merged.reinject ?? DEFAULT_POLICY.reinject,
    idle: merged.idle ? idleOf(merged.idle) : null,
    breaker: {
      findings: breaker.findings ?? BREAKER.findings,
      noProgress: breaker.no_progress ?? BREAKER.noProgress,
      sameReply: breaker.same_reply ?? BREAKER.sameReply,
      sameError: breaker.same_error ?? BREAKER.sameError,
      denials: breaker.denials ?? BREAKER.denials,
      tdd: breaker.tdd ?? BREAKER.tdd,
    },
    budget: {
      maxCostUsd: budget.max_cost ?? BUDGET.maxCostUsd,
      maxTokens: budget.max_tokens ?? BUDGET.maxTokens,
      maxTimeMs: budget.max_time ?? BUDGET.maxTimeMs,
      warnAt: budget.warn_at ?? BUDGET.warnAt,
    },
    ...(kind === 'plan' && { plan: { maxTasks: merged.max_tasks ?? MAX_TASKS, from: null } }),
    backgroundWaitMs: merged.background_wait ?? DEFAULT_POLICY.backgroundWaitMs,
    pace: paceOf(merged, kind),
  };
}

function completionOf(
  merged: Frontmatter,
  sources: Readonly<Record<string, Source>>,
  kind: TaskKind,
): Policy['completion'] {
  if (merged.completion_promise !== undefined) return { kind: 'promise', text: merged.completion_promise };
  const signal = { kind: 'signal', text: merged.completion_signal ?? COMPLETION_SIGNAL } as const;
  const { completion } = BY_FILE[kind];
  switch (completion) {
    case 'signal':
      return signal;
    case 'none':
      return { kind: 'none' };
    case 'list':
      return sources['completion_signal'] === 'default' ? { kind: 'none' } : signal;
    default:
      return completion satisfies never;
  }
}

function idleOf(block: NonNullable<Frontmatter['idle']>): Policy['idle'] {
  const { delay, maxDelay, max } = completeIdle(block);
  return {
    delayMs: delay,
    backoff: block.backoff ?? IDLE.backoff,
    maxDelayMs: maxDelay,
    maxMs: max,
    wake: block.wake ?? IDLE.wake,
    watch: block.watch ?? IDLE.watch,
    maxQuietMs: block.max_quiet ?? IDLE.maxQuietMs,
  };
}

function settingsOf(merged: Frontmatter, sources: Readonly<Record<string, Source>>, kind: TaskKind): Settings {
  return {
    validation: merged.validation ?? [],
    findingsLog: merged.findings_log ?? FINDINGS_LOG,
    agent: merged.agent ?? null,
    model: merged.model ?? null,
    effort: merged.effort ?? null,
    permissionMode: merged.permission_mode ?? null,
    isolation: merged.isolation ?? 'project',
    worktreeSetup: merged.worktree_setup ?? null,
    notify: notifyOf(merged),
    guardrails: guardrailsOf(merged),
    commitFooters: merged.commit_footers ?? [],
    task: hasTaskTerms(sources, kind) ? taskSettingsOf(merged, kind) : null,
  };
}

function notifyOf({ notify = {} }: Frontmatter): typeof NOTIFY {
  return {
    on: notify.on ?? NOTIFY.on,
    command: notify.command ?? NOTIFY.command,
    url: notify.url ?? NOTIFY.url,
    template: notify.template ?? NOTIFY.template,
    bell: notify.bell ?? NOTIFY.bell,
  };
}

/** A task folder always has terms, a prompt file only if it sets one of their keys. */
function hasTaskTerms(sources: Readonly<Record<string, Source>>, kind: TaskKind): boolean {
  if (kind !== 'prompt') return hasFolder(kind);
  const isOwn = (key: string): boolean => sources[key] === 'flag' || sources[key] === 'frontmatter';
  return TASK_KEYS.some(isOwn);
}
