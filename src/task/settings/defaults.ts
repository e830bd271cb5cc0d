import type { Guardrails } from '../../engine/schema/contract.ts';
import type { IdlePolicy, Policy } from '../../engine/schema/policy.ts';
import type { TaskKind } from '../task-file.ts';

/** What holds where nobody says otherwise. One place for the hook, which has no schema, and for `start`, which has. */
export const COMPLETION_SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
export const FINDINGS_LOG = '.claude/ralph/findings.md';

/** Of a validation command that names none: test suites run long, and only at the gate. */
export const VALIDATION_TIMEOUT_SECONDS = 300;

export const BREAKER: Policy['breaker'] = {
  findings: 3,
  noProgress: 0,
  sameReply: 3,
  sameError: 5,
  denials: 3,
  tdd: 3,
};

/** Of one session over a plan. */
export const MAX_TASKS = 5;

export const BUDGET: Policy['budget'] = { maxCostUsd: null, maxTokens: null, maxTimeMs: null, warnAt: 0.8 };

/** Of an `idle` block that leaves keys out; without a block idle is off. */
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

/** Defaults that depend on the name of the task file. */
export interface FileDefaults {
  /** Working iterations, and the most that a loop can be given. */
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

/** Timeout of a command that names none; less where the iteration itself has less. */
export const COMMAND_TIMEOUT_SECONDS = 60;

/** The loop's own memory: it is shown to the agent and never an output that a gate requires. */
export const PROGRESS_FILE = 'RALPH_PROGRESS.md';

/** Branches on which no plan is executed, and that its agent may not push to. */
export const MAIN_BRANCHES: readonly string[] = ['main', 'master'];

/** Those that hold for the agent under these guardrails. */
export function guardedBranches({ lifted = [] }: Guardrails): readonly string[] {
  return lifted.includes('push-main') ? [] : MAIN_BRANCHES;
}
