import type { Run } from '../../engine/schema/batch.ts';
import type { Proof } from '../../engine/schema/proof.ts';

/** Data of report and dashboard: plain data, secrets masked, times in ISO-8601 UTC. null is unknown. */

export interface Call {
  readonly id: string;
  readonly tool: string;
  readonly about: string;
  readonly at: string;
  outcome: 'running' | 'ok' | 'failed' | 'denied';
  durationMs: number | null;
  /** Reason of a denial: the rule and its explanation. */
  reason?: string;
  readonly nested?: true;
}

export interface Check {
  readonly name: string;
  readonly run: string | null;
  readonly outcome: string;
  readonly at: string;
  readonly tail: string;
  readonly failedTests: readonly string[];
}

export interface Commit {
  readonly id: string;
  readonly at: string;
  readonly subject: string;
  /** Statistics such as `3 files changed, 10 insertions(+)`. */
  readonly stat: string;
  readonly patch: string;
}

export interface Work {
  /** Commits by the index of the iteration that made them. */
  readonly commits: readonly (readonly [index: number, commits: readonly Commit[]])[];
  /** Uncommitted changes; null if there are none or they are unknown. */
  readonly uncommitted: { readonly stat: string; readonly patch: string } | null;
}

/** Outcome of an iteration. `open`: it is in progress, or its end was never recorded. */
export type Outcome = 'open' | 'worked' | 'claimed' | 'rejected' | 'complete' | 'idle' | 'failed' | 'interrupted';

export interface Breaker {
  readonly signal: string;
  readonly repeats: number;
  readonly threshold: number;
}

export interface Iteration {
  /** Position in the loop, including idle iterations, from 1. */
  readonly index: number;
  number: number;
  outcome: Outcome;
  startedAt: string;
  endedAt: string | null;
  durationMs: number | null;
  costUsd: number | null;
  tokens: number | null;
  /** Largest number of tokens in the agent's context, and the size of the context. */
  context: number | null;
  window: number | null;
  findings: number | null;
  /** Signal of the circuit breaker that was nearest to its threshold; null if unknown. */
  breaker: Breaker | null;
  toolCalls: number;
  denied: number;
  model: string | null;
  decision: string;
  /** Final message of the agent. */
  said: string;
  error: string | null;
  readonly reasons: string[];
  readonly calls: Call[];
  readonly checks: Check[];
  readonly commands: { readonly name: string; readonly outcome: string; readonly durationMs: number }[];
  readonly steering: string[];
  commits: readonly Commit[];
  /** Present if the details before its prompt are left out, because it is among the first of a long loop. */
  brief?: true;
}

export interface Wait {
  from: string;
  to: string | null;
  readonly until: string | null;
  readonly why: string;
}

export interface Decision {
  readonly at: string;
  readonly iteration: number;
  readonly type: string;
  readonly text: string;
}

/** A check over the whole run of the loop. `proved` is the iteration in which its last result passed. */
export interface CheckSummary {
  readonly name: string;
  readonly run: string | null;
  /** `passed` or `failed` before the first iteration; null if that is unknown. */
  readonly before: string | null;
  readonly runs: number;
  readonly firstFailed: number | null;
  readonly firstPassed: number | null;
  readonly last: string | null;
  /** First line of the last result. */
  readonly why: string;
  /** Tests that failed in the last result, each with its place and message. */
  readonly failedTests: readonly string[];
}

export interface Limit {
  readonly name: string;
  readonly unit: 'count' | 'usd' | 'tokens' | 'ms';
  readonly used: number | null;
  readonly limit: number;
}

export interface RunData {
  readonly version: 1;
  readonly generatedAt: string;
  readonly project: string;
  readonly run: Run;
  /** Keys of the loops by the ids of their tasks. */
  readonly keys: Readonly<Record<string, string>>;
  /** Reports of these loops; empty on a served page, which reads a report when it is opened. */
  readonly loops: readonly ReportData[];
}

export interface LoopRow {
  /** Key of the loop in requests; not a path. */
  readonly key: string;
  readonly name: string;
  /** What it works on, in words; its name if that is unknown. */
  readonly title: string;
  readonly project: string;
  /** Number of tasks, and of those that are done; absent for a single task. */
  readonly tasks?: { readonly done: number; readonly total: number };
  readonly loopId: string | null;
  readonly task: string;
  readonly mode: string;
  readonly status: string;
  readonly live: boolean;
  /** Null if it is unknown whether all of it is verified. */
  readonly verified: boolean | null;
  /** What a completion rests on; null if the loop is not complete. */
  readonly proof: Proof | null;
  readonly iteration: number;
  /** 0 if not yet known. */
  readonly maxIterations: number;
  readonly costUsd: number | null;
  /** True while a run's cost is still unknown: the loop costs at least `costUsd`. */
  readonly isCostPartial: boolean;
  readonly startedAt: string;
  /** Time since the start that does not count towards `max_time`. */
  readonly stoppedMs?: number;
  /** Beginning of the current stop, from which no time counts. */
  readonly stoppedSince?: string;
  readonly endedAt: string | null;
  readonly waitingUntil: string | null;
  /** Reason why it is not running, or how it ended. */
  readonly about: string;
  /** Requests that it accepts now, the most common first. */
  readonly controls: readonly Control[];
}

export type Control = 'steer' | 'pause' | 'resume' | 'stop' | 'cancel' | 'wake' | 'retry';

export interface ReportData {
  readonly version: 1;
  readonly generatedAt: string;
  readonly row: LoopRow;
  /** The run that this loop is; null if it does not work on a plan. */
  readonly run: Run | null;
  readonly why: string;
  /** Text of the task file without its settings, as it is now; null if it is unknown. */
  readonly task: string | null;
  /** What a person can do next: in words, and as commands. */
  readonly next: string;
  readonly steps: readonly { readonly verb: string; readonly command: string }[];
  readonly notices: readonly { readonly at: string; readonly kind: string; readonly text: string }[];
  /** Items of OPEN_QUESTIONS.md that keep the loop from completing. */
  readonly questions: readonly string[];
  readonly checks: readonly CheckSummary[];
  readonly limits: readonly Limit[];
  readonly iterations: readonly Iteration[];
  /** State when the report was written. */
  readonly uncommitted: Work['uncommitted'];
  readonly waits: readonly Wait[];
  readonly decisions: readonly Decision[];
  readonly environment: readonly (readonly [string, string])[];
  /** Numbers of items before the first ones here, in an answer with only news. */
  readonly skipped: { readonly iterations: number; readonly decisions: number };
}
