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

/** Working iterations: what a loop of this kind gets by itself, and the most it can be given. */
export function iterationLimits(kind: TaskKind): { readonly byDefault: number; readonly cap: number } {
  return kind === 'ralph-md' || kind === 'checklist' ? { byDefault: 50, cap: 50 } : { byDefault: 25, cap: 100 };
}

/** What one iteration of a task folder may take where its RALPH.md says nothing. */
export const ITERATION_TIMEOUT_SECONDS = 300;

/** Of a command that names none; less where the iteration itself has less. */
export const COMMAND_TIMEOUT_SECONDS = 60;

/** The loop's own memory: it is shown to the agent and never an output that a gate requires. */
export const PROGRESS_FILE = 'RALPH_PROGRESS.md';

/** Branches on which no plan is executed, and that its agent may not push to. */
export const MAIN_BRANCHES: readonly string[] = ['main', 'master'];

/** Those that hold for the agent under these guardrails. */
export function guardedBranches({ lifted = [] }: Guardrails): readonly string[] {
  return lifted.includes('push-main') ? [] : MAIN_BRANCHES;
}
