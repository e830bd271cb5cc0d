import { NOTIFY_KINDS } from '../../engine/schema/constants.ts';
import type { Guardrails, Notify } from '../../engine/schema/contract.ts';
import type { IdlePolicy, Policy } from '../../engine/schema/policy.ts';
import type { TaskKind } from '../task-file.ts';

export const COMPLETION_SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
export const FINDINGS_LOG = '.claude/ralph/findings.md';

export const VALIDATION_TIMEOUT_SECONDS = 300;

export const BREAKER: Policy['breaker'] = {
  findings: 3,
  noProgress: 0,
  sameReply: 3,
  sameError: 5,
  denials: 3,
  tdd: 3,
};

export const MAX_TASKS = 5;

export const BUDGET: Policy['budget'] = { maxCostUsd: null, maxTokens: null, maxTimeMs: null, warnAt: 0.8 };

export const IDLE: IdlePolicy = {
  delayMs: 30_000,
  backoff: 2,
  maxDelayMs: 300_000,
  maxMs: 21_600_000,
  wake: 'time',
  watch: [],
  maxQuietMs: null,
};

export const DEFAULT_POLICY: Policy = {
  completion: { kind: 'signal', text: COMPLETION_SIGNAL },
  signalMatch: 'line',
  maxIterations: 25,
  reinject: 'auto',
  idle: null,
  breaker: BREAKER,
  budget: BUDGET,
  backgroundWaitMs: 1_800_000,
  pace: { delayMs: 0, iterationTimeoutMs: null, stopOnError: false, tracksProgress: false },
};

export const NO_GUARDRAILS: Guardrails = {
  blockCommands: [],
  shellAllow: null,
  protectedFiles: [],
  privateFiles: [],
  strict: false,
};

/** `bell`: of the user's terminal. */
export const NOTIFY: Notify & { readonly bell: boolean } = {
  on: [...NOTIFY_KINDS],
  command: null,
  url: null,
  template: 'json',
  bell: true,
};

export interface FileDefaults {
  /** Default and upper limit of working iterations. */
  readonly maxIterations: number;
  readonly iterationCap: number;
  /** Timeout of an iteration; null for no limit. */
  readonly timeoutSeconds: number | null;
  readonly stopOnError: boolean;
  /** Claim of completion without a promise: the signal, none at all, or a finished list. */
  readonly completion: 'signal' | 'none' | 'list';
  readonly openQuestions: 'required' | 'optional';
  /** A loop that ends at its limit without any progress ends as no-progress-exhaustion. */
  readonly tracksProgress: boolean;
}

const OF_PROMPT: FileDefaults = {
  maxIterations: 25,
  iterationCap: 100,
  timeoutSeconds: null,
  stopOnError: false,
  completion: 'signal',
  openQuestions: 'optional',
  tracksProgress: false,
};

const OF_FOLDER: FileDefaults = {
  maxIterations: 50,
  iterationCap: 50,
  timeoutSeconds: 300,
  stopOnError: true,
  completion: 'none',
  openQuestions: 'required',
  tracksProgress: true,
};

export const BY_FILE: Readonly<Record<TaskKind, FileDefaults>> = {
  prompt: OF_PROMPT,
  'ralph-md': OF_FOLDER,
  checklist: { ...OF_FOLDER, completion: 'list' },
  plan: { ...OF_PROMPT, completion: 'list' },
  tdd: { ...OF_PROMPT, completion: 'list' },
};

/** At most the timeout of the iteration. */
export const COMMAND_TIMEOUT_SECONDS = 60;

/** The loop's own memory, shown to the agent; never a required output. */
export const PROGRESS_FILE = 'RALPH_PROGRESS.md';

/** Branches on which no plan runs, and that its agent may not push to. */
export const MAIN_BRANCHES: readonly string[] = ['main', 'master'];

export function guardedBranches({ lifted = [] }: Guardrails): readonly string[] {
  return lifted.includes('push-main') ? [] : MAIN_BRANCHES;
}
