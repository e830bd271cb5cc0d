import type { ChecklistCount } from '../text/markdown/lists.ts';
import { type Message, RalphError } from '../text/message.ts';
import type { TestSummary } from '../text/test-results/test-summary.ts';
import type { ChecklistStand } from './identity/items.ts';
import type { PlanAttempt, ToldTask } from './plan/attempt.ts';
import type { Baseline } from './schema/proof.ts';
import type { IterationRecord, LoopEvent } from './schema/records.ts';
import type { Notices, PauseReason, Steering, TerminalStatus, UsageState } from './schema/state.ts';

export interface BudgetReading {
  readonly name: 'max_cost' | 'max_tokens' | 'max_time';
  readonly used: number;
  readonly limit: number;
  readonly text: string;
  /** A larger limit, as its option takes it, that is not yet used up. */
  readonly more: string;
}

export type UsageDelta = Pick<UsageState, 'inputTokens' | 'outputTokens' | 'cacheReadTokens' | 'cacheWriteTokens'>;

export function tokens(count: (kind: keyof UsageDelta) => number): UsageDelta {
  return {
    inputTokens: count('inputTokens'),
    outputTokens: count('outputTokens'),
    cacheReadTokens: count('cacheReadTokens'),
    cacheWriteTokens: count('cacheWriteTokens'),
  };
}

export interface CheckResult {
  readonly name: string;
  readonly outcome: 'ok' | 'failed' | 'timeout' | 'vacuous' | 'changed' | 'unavailable';
  /** What the agent and the user need to know to fix it, in one or a few lines. */
  readonly detail: string;
  /** Present if the check is a command that exited with another code than 0. */
  readonly exitCode?: number;
  /** Present if the check's output shows a test run. */
  readonly tests?: TestSummary;
  /** A failure refutes a claim, but a pass proves no work, for example because the agent writes the file itself. */
  readonly refutesOnly?: true;
}

/** Contract in force once lost evidence was replaced by the present state. */
interface RenewedContract {
  readonly contractHash: string;
  readonly maxIterations: number;
}

export type OperatorCommand =
  /** `flag`: requested by a file in the task folder, whose author is unknown. */
  | { readonly kind: 'stop'; readonly clientAlive: boolean; readonly flag?: true }
  | { readonly kind: 'cancel'; readonly flag?: true }
  | { readonly kind: 'pause' }
  /** A launcher begins a new turn with its own prompt; otherwise the user writes next. */
  | { readonly kind: 'resume'; readonly by?: 'launcher'; readonly renewed?: RenewedContract }
  | { readonly kind: 'wake' }
  /** Recording the consent in the contract changes its hash. */
  | { readonly kind: 'consent'; readonly contractHash: string }
  | { readonly kind: 'steer'; readonly id: string; readonly text: string; readonly delivery: 'now' | 'next' }
  | {
      readonly kind: 'accept';
      /** Id of the announcement, which is delivered once. */
      readonly id: string;
      readonly contractHash: string;
      readonly maxIterations: number;
      /** Changes in one line, for the agent and the user. */
      readonly changes: string;
      /** Current checklist, which the user accepts as complete. */
      readonly checklist?: ChecklistCount;
    };

/** Everything that can happen to a loop. `at` is the wall clock time of the event. */
export type EngineEvent =
  | {
      readonly type: 'iteration-ended';
      readonly at: string;
      readonly text: string;
      readonly promptId: string | null;
      /** Author of a prompt that the loop does not know: `user` for a person's own command. */
      readonly origin: 'loop' | 'user';
      /** The same payload with the same mark is the same end of a turn, delivered twice. */
      readonly transcriptMark: string;
      readonly toolCalls: number;
      readonly deniedCalls: number;
      /** The agent does not report its calls, so a count of zero does not mean that it made none. */
      readonly callsUnknown?: boolean;
      readonly usage: UsageDelta | null;
      readonly costUsd: number | null;
      /** Checklist after the iteration; absent if the task has none or its file is missing. */
      readonly checklist?: ChecklistStand;
      readonly reflected?: boolean;
      /** The task file itself claims completion, as a signal would. */
      readonly taskDone?: boolean;
      /** The loop has checks, which can say without a claim how far the agent came. */
      readonly hasChecks?: boolean;
      readonly progress: 'yes' | 'no' | 'unknown';
      /** Current fingerprint of the project, kept for the next comparison; null if not requested. */
      readonly projectMark: string | null;
      readonly error: string | null;
      /** The iteration's time limit was reached before the agent had ended its message. */
      readonly timedOut: boolean;
      readonly failedShellCalls: number;
      readonly scenario: string | null;
      /** Current fingerprint of the watched files; null if nothing is watched. */
      readonly seen: string | null;
    }
  | {
      readonly type: 'verified';
      readonly at: string;
      readonly results: readonly CheckResult[];
      /** Results before the first iteration; absent: unknown. */
      readonly baseline?: Baseline;
      /** Whether a file of the project, other than the loop's own, has changed since then; absent: unknown. */
      readonly changed?: 'yes' | 'no';
      /** Verified attempt and current plan; present only for a plan. */
      readonly plan?: PlanAttempt;
    }
  | { readonly type: 'plan-read'; readonly at: string; readonly tasks: readonly ToldTask[]; readonly commit: string }
  | { readonly type: 'operator'; readonly at: string; readonly command: OperatorCommand }
  | {
      readonly type: 'time-passed';
      readonly at: string;
      /** Reason why the driver stopped waiting. `quiet`: it looked for changes and found none. */
      readonly cause: 'elapsed' | 'changed' | 'quiet' | 'message' | 'notification' | 'deadline';
      readonly seen: string | null;
    }
  | {
      readonly type: 'user-prompt';
      readonly at: string;
      /** Id of the prompt. If it is that of the running turn, the prompt was queued and nothing was interrupted. */
      readonly promptId: string | null;
      /** A person, or the client itself: background work ended (`notification`), a usage limit reset (`continuation`). */
      readonly by: 'user' | 'notification' | 'continuation';
    }
  | { readonly type: 'turn-released'; readonly at: string; readonly why: 'background' | 'message' }
  | { readonly type: 'api-error'; readonly at: string; readonly error: ApiError }
  | { readonly type: 'interrupted'; readonly at: string; readonly by: 'signal' | 'client-exit' }
  | { readonly type: 'block-overridden'; readonly at: string }
  | {
      readonly type: 'suspended';
      readonly at: string;
      readonly reason: PauseReason;
      readonly message: Message | string;
    }
  | { readonly type: 'task-missing'; readonly at: string; readonly message: Message | string }
  /** No agent can work: the loop ends as an error, and the message explains how to continue. */
  | { readonly type: 'agent-failed'; readonly at: string; readonly message: Message | string }
  /** A limit of the loop's budget is used up in the middle of an iteration. */
  | {
      readonly type: 'budget-reached';
      readonly at: string;
      readonly budget: BudgetReading;
      /** The checks of a claim were cut short by the limit. */
      readonly cut?: 'checks';
    }
  /** A budget shared by several loops is used up. */
  | {
      readonly type: 'shared-budget-reached';
      readonly at: string;
      /** Figures of the limit that is reached. */
      readonly reading: string;
      /** Option that grants more; empty if none does. */
      readonly more: Readonly<Record<string, string>>;
    }
  /** A notice for the user and the next prompt; each key is announced once. */
  | { readonly type: 'noticed'; readonly at: string; readonly key: string; readonly warning: Message | string }
  /** The machine slept, or the driver's process was stopped, from `since` to `at`. */
  | { readonly type: 'slept'; readonly at: string; readonly since: string }
  | { readonly type: 'waited-out'; readonly at: string; readonly taskIds: readonly string[] }
  | { readonly type: 'steering-delivered'; readonly at: string; readonly ids: readonly string[] }
  /** A slow prompt is ready and the iteration begins; or it was abandoned, and the next prompt carries its contents. */
  | { readonly type: 'prompt-made'; readonly at: string; readonly outcome: 'ready' | 'given-up' }
  /** A driver begins a turn with a prompt of its own, which carries everything undelivered in the state. */
  | { readonly type: 'first-prompt'; readonly at: string };

export type EventOf<T extends EngineEvent['type']> = Extract<EngineEvent, { type: T }>;

export interface ApiError {
  readonly kind: 'rate-limited' | 'authentication' | 'billing' | 'invalid-request' | 'overloaded' | 'other';
  readonly message: string;
  readonly resetsAt: string | null;
  /** Command of the client with which its user logs in again; absent: /login. */
  readonly login?: string;
}

/** Maximum length of a message to the agent; a longer text belongs in the task file. */
const LIMIT = 20_000;

/** Returns the command that steers the agent. Throws RalphError `usage` if the text is too long. */
export function steering(id: string, text: string, delivery: 'now' | 'next'): OperatorCommand {
  if (text.length > LIMIT) {
    throw new RalphError(
      'usage',
      `the text has ${text.length} characters; at most ${LIMIT}. Put it into the task file.`,
    );
  }
  return { kind: 'steer', id, text, delivery };
}

/** Lesson that the engine adds to guardrails.md. */
export interface Sign {
  readonly name: string;
  readonly trigger: string;
  readonly instruction: string;
  readonly addedAfter: string;
}

/** Notices and messages in a prompt, before the task itself. */
export interface Told {
  readonly notices: Notices;
  readonly steering: readonly Steering[];
}

/** Instruction to the driver, which has no rules of its own. */
export type Effect =
  /** Send the task again, preceded by these notices and this steering. */
  | ({ readonly type: 'prompt' } & Told)
  /** Let the turn end. `message` is for the user. */
  | { readonly type: 'allow'; readonly message: string | null }
  /** Wait until then, or until something ends the wait early, then report `time-passed`. */
  | { readonly type: 'wait'; readonly until: string }
  /** Check whether watched files have changed, then report `time-passed` with `changed` or `quiet`. */
  | { readonly type: 'look' }
  | { readonly type: 'verify' }
  | { readonly type: 'record-iteration'; readonly record: IterationRecord }
  | { readonly type: 'record-event'; readonly event: LoopEvent }
  | { readonly type: 'add-sign'; readonly sign: Sign }
  /** Move the whole state into the archive. `message` tells later loops how this one ended, without commands for the user. */
  | { readonly type: 'archive'; readonly as: TerminalStatus; readonly message: string }
  | { readonly type: 'notify'; readonly message: string }
  /** Print and change nothing: the same event was delivered twice. */
  | { readonly type: 'ignore' };
