import { BACKGROUND_WAIT_MS } from '../../engine/policy/background.ts';
import { NOTIFY_KINDS } from '../../engine/schema/constants.ts';
import type { TaskTerms } from '../../engine/schema/contract.ts';
import type { Frontmatter } from '../frontmatter/schema.ts';
import type { TaskKind } from '../task-file.ts';

export const COMPLETION_SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
export const VALIDATION_TIMEOUT_SECONDS = 300;
/** Default timeout of a command; at most that of the iteration. */
export const COMMAND_TIMEOUT_SECONDS = 60;

/** Default for each key of a group; null for none. */
type Defaults<T> = { readonly [K in keyof T]-?: Default<NonNullable<T[K]>> };
type Default<T> = T extends readonly (infer E)[]
  ? readonly E[] | null
  : T extends object
    ? Defaults<T> | null
    : T | null;

export const FINDINGS_LOG = '.ralph/findings.md';
/** Findings log of older installations, read if the default one is missing. */
export const FORMER_LOG = '.claude/ralph/findings.md';

/** Default of every key of a task file, durations in milliseconds. `BY_FILE` has those that depend on the file name. */
export const DEFAULTS = {
  validation: [],
  unchanged: [],
  may_change: [],
  may_run: [],
  verify_in: 'project',
  baseline: true,
  completion_signal: null,
  completion_promise: null,
  /** Required under the conditions of `gateOf`. */
  completion_gate: 'disabled',
  signal_match: 'line',
  reinject: 'auto',
  idle: null,
  breaker: { findings: 3, no_progress: 0, same_reply: 3, same_error: 5, denials: 3, tdd: 3 },
  budget: { max_cost: null, max_tokens: null, max_time: null, stop_at: null, warn_at: 0.8 },
  max_iterations: 25,
  max_tasks: 5,
  commit_message: null,
  commit_footers: [],
  background_wait: BACKGROUND_WAIT_MS,
  inter_iteration_delay: 0,
  timeout: null,
  stop_on_error: false,
  agent: null,
  model: null,
  effort: null,
  permission_mode: null,
  isolation: 'project',
  guardrails: {
    block_commands: [],
    protected_files: [],
    private_files: [],
    shell_policy: null,
    lift: null,
    strict: false,
  },
  sandbox: { mode: 'off', allow_write: [], deny_write: [], deny_read: [], network: false },
  worktree_setup: null,
  worktree_copy: [],
  accept: 'ask',
  notify: { on: NOTIFY_KINDS, command: null, url: null, template: 'json', bell: true },
  findings_log: FINDINGS_LOG,
  args: [],
  commands: [],
  items_per_iteration: null,
  reflect_every: 0,
  required_outputs: [],
  /** Required under the conditions of `asksForQuestions`. */
  open_questions: 'optional',
} as const satisfies { readonly [K in keyof Defaults<Frontmatter>]: Defaults<Frontmatter>[K] | null };

export const IDLE = {
  delay: 30_000,
  backoff: 2,
  max_delay: 300_000,
  max: 21_600_000,
  wake: 'time',
  watch: [],
  max_quiet: null,
} as const satisfies Defaults<NonNullable<Frontmatter['idle']>>;

type Values<T, D> = { readonly [K in keyof D]: NonNullable<T[K & keyof T]> | D[K] };
type Group = 'breaker' | 'budget' | 'guardrails' | 'notify' | 'sandbox';
type Idle = NonNullable<Frontmatter['idle']>;

/** Value of every key, with defaults filled in. */
export type EffectiveValues = Omit<Values<Frontmatter, typeof DEFAULTS>, Group | 'idle'> & {
  readonly [G in Group]: Values<NonNullable<Frontmatter[G]>, (typeof DEFAULTS)[G]>;
} & { readonly idle: Values<Idle, typeof IDLE> | null };

export interface FileDefaults {
  readonly values: Pick<
    Values<Frontmatter, typeof DEFAULTS>,
    'max_iterations' | 'timeout' | 'stop_on_error' | 'completion_signal' | 'verify_in'
  >;
  /** How completion is claimed without a promise: by the signal, not at all, or by a finished list. */
  readonly completion: 'signal' | 'none' | 'list';
  /** True if a loop that reaches its limit without any progress ends as no-progress-exhaustion. */
  readonly tracksProgress: boolean;
}

const OF_PROMPT: FileDefaults = {
  values: {
    max_iterations: 25,
    // A longer turn hangs, or does work that belongs in several turns.
    timeout: 7200,
    stop_on_error: false,
    completion_signal: COMPLETION_SIGNAL,
    verify_in: 'project',
  },
  completion: 'signal',
  tracksProgress: false,
};

const OF_FOLDER: FileDefaults = {
  values: { max_iterations: 50, timeout: 300, stop_on_error: true, completion_signal: null, verify_in: 'project' },
  completion: 'none',
  tracksProgress: true,
};

const OF_LIST: FileDefaults = {
  ...OF_PROMPT,
  values: { ...OF_PROMPT.values, completion_signal: null },
  completion: 'list',
};

/** A task is verified as the commit that it becomes. */
const OF_PLAN: FileDefaults = { ...OF_LIST, values: { ...OF_LIST.values, verify_in: 'worktree' } };

export const BY_FILE: Readonly<Record<TaskKind, FileDefaults>> = {
  prompt: OF_PROMPT,
  'ralph-md': OF_FOLDER,
  checklist: { ...OF_FOLDER, completion: 'list' },
  plan: OF_PLAN,
  tdd: OF_LIST,
};

export function effectiveValues(set: Frontmatter, kind: TaskKind): EffectiveValues {
  return {
    ...valuesOver({ ...DEFAULTS, ...BY_FILE[kind].values }, set),
    completion_gate: set.completion_gate ?? gateOf(set, kind),
    open_questions: set.open_questions ?? (asksForQuestions(set, kind) ? 'required' : 'optional'),
    idle: set.idle ? completeIdle(set.idle) : null,
    breaker: valuesOver(DEFAULTS.breaker, set.breaker),
    budget: valuesOver(DEFAULTS.budget, set.budget),
    guardrails: valuesOver(DEFAULTS.guardrails, set.guardrails),
    notify: valuesOver(DEFAULTS.notify, set.notify),
    sandbox: valuesOver(DEFAULTS.sandbox, set.sandbox),
  };
}

function valuesOver<T, D>(defaults: D, set: T | undefined): Values<T, D> {
  return { ...defaults, ...set } as Values<T, D>;
}

/** Completes an idle block; a `delay` above the default `max_delay` raises `max_delay`. */
export function completeIdle(block: Idle): Values<Idle, typeof IDLE> {
  const delay = block.delay ?? IDLE.delay;
  return valuesOver({ ...IDLE, max_delay: Math.max(IDLE.max_delay, delay) }, block);
}

/** Returns whether a claim needs OPEN_QUESTIONS.md: in a task folder whose file itself asks for the gate. */
function asksForQuestions({ completion_gate }: Frontmatter, kind: TaskKind): boolean {
  return (kind === 'ralph-md' || kind === 'checklist') && completion_gate === 'required';
}

/** Returns the gate: required with a promise, or if there is something to check and a claim needs no promise. */
export function gateOf(
  { completion_promise, required_outputs = [], commands = [] }: Frontmatter,
  kind: TaskKind,
): TaskTerms['gate'] {
  const asks = required_outputs.length > 0 || commands.some(({ acceptance }) => acceptance === true);
  return completion_promise !== undefined || (BY_FILE[kind].completion !== 'none' && asks) ? 'required' : 'disabled';
}
