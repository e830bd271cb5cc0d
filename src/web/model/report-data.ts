/** What report and dashboard show: plain data, secrets masked, times in ISO-8601 UTC. null is unknown. */

export interface Call {
  readonly id: string;
  readonly tool: string;
  readonly about: string;
  readonly at: string;
  outcome: 'running' | 'ok' | 'failed' | 'denied';
  durationMs: number | null;
  /** Of a denial: the rule and why. */
  reason?: string;
  readonly nested?: true;
}

export interface Check {
  readonly name: string;
  readonly run: string | null;
  readonly outcome: string;
  readonly at: string;
  readonly tail: string;
}

export interface Commit {
  readonly id: string;
  readonly at: string;
  readonly subject: string;
  /** `3 files changed, 10 insertions(+)`. */
  readonly stat: string;
  readonly patch: string;
}

export interface Work {
  readonly commits: readonly Commit[];
  /** What is changed and not committed; null if nothing is known or changed. */
  readonly uncommitted: { readonly stat: string; readonly patch: string } | null;
}

/** How an iteration came out. `open`: it is at work, or its end was never recorded. */
export type Outcome = 'open' | 'worked' | 'claimed' | 'rejected' | 'complete' | 'idle' | 'failed' | 'interrupted';

export interface Breaker {
  readonly signal: string;
  readonly repeats: number;
  readonly threshold: number;
}

export interface Iteration {
  /** Position in the loop, idle iterations included, from 1. */
  readonly index: number;
  number: number;
  outcome: Outcome;
  startedAt: string;
  endedAt: string | null;
  durationMs: number | null;
  costUsd: number | null;
  tokens: number | null;
  /** Most tokens in the agent's context at once, and what it can hold. */
  context: number | null;
  window: number | null;
  findings: number | null;
  /** The signal of the circuit breaker that was nearest to its threshold; null if none is known. */
  breaker: Breaker | null;
  toolCalls: number;
  denied: number;
  model: string | null;
  decision: string;
  /** The agent's last words. */
  said: string;
  error: string | null;
  readonly reasons: string[];
  readonly calls: Call[];
  readonly checks: Check[];
  readonly commands: { readonly name: string; readonly outcome: string; readonly durationMs: number }[];
  readonly steering: string[];
  commits: readonly Commit[];
}

export interface Wait {
  readonly from: string;
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

/** A check of the loop over its whole run. `proved` in the iteration that its last result passed in. */
export interface CheckSummary {
  readonly name: string;
  readonly run: string | null;
  readonly runs: number;
  readonly firstFailed: number | null;
  readonly firstPassed: number | null;
  readonly last: string | null;
  readonly tail: string;
}

export interface Limit {
  readonly name: string;
  readonly unit: 'count' | 'usd' | 'tokens' | 'ms';
  readonly used: number | null;
  readonly limit: number;
}

/** What the report of several loops shows: a row for each task, and the loops that have begun. */
export interface BatchData {
  readonly title: string;
  /** What all tasks have used; empty if nothing is known. */
  readonly totals: string;
  readonly rows: readonly LoopRow[];
  readonly loops: readonly ReportData[];
}

/** One loop in a list. */
export interface LoopRow {
  /** Stands for the loop's place in requests; no path. */
  readonly key: string;
  readonly name: string;
  readonly project: string;
  readonly loopId: string | null;
  readonly task: string;
  readonly mode: string;
  readonly status: string;
  readonly live: boolean;
  readonly verified: boolean;
  readonly iteration: number;
  /** 0 if not known yet. */
  readonly maxIterations: number;
  readonly costUsd: number | null;
  readonly startedAt: string;
  readonly endedAt: string | null;
  readonly waitingUntil: string | null;
  /** Why it stands still, or how it ended. */
  readonly about: string;
  /** What can be asked of it now, the commonest first. */
  readonly controls: readonly Control[];
}

export type Control = 'steer' | 'pause' | 'resume' | 'stop' | 'cancel' | 'wake' | 'retry';

export interface ReportData {
  readonly version: 1;
  readonly generatedAt: string;
  readonly row: LoopRow;
  readonly why: string;
  readonly next: string;
  readonly notices: readonly { readonly at: string; readonly kind: string; readonly text: string }[];
  readonly checks: readonly CheckSummary[];
  readonly limits: readonly Limit[];
  readonly iterations: readonly Iteration[];
  /** As it was when the report was written. */
  readonly uncommitted: Work['uncommitted'];
  readonly waits: readonly Wait[];
  readonly decisions: readonly Decision[];
  readonly environment: readonly (readonly [string, string])[];
  /** So many come before the first ones here, in an answer that brings news only. */
  readonly skipped: { readonly iterations: number; readonly decisions: number };
}
