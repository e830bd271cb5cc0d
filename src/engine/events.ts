import type { ChecklistCount } from '../text/markdown/checklist.ts';
import { type Message, RalphError } from '../text/message.ts';
import type { PlanAttempt, ToldTask } from './plan/attempt.ts';
import type { IterationRecord, LoopEvent } from './schema/records.ts';
import type { Notices, PauseReason, Steering, TerminalStatus, UsageState } from './schema/state.ts';

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
  /** What the agent and the user need to know to fix it, in one line or a few. */
  readonly detail: string;
}

export type OperatorCommand =
  /** `flag`: asked for by a file in the task folder, which anybody may have written. */
  | { readonly kind: 'stop'; readonly clientAlive: boolean; readonly flag?: true }
  | { readonly kind: 'cancel'; readonly flag?: true }
  | { readonly kind: 'pause' }
  /** A launcher begins a new turn by its own prompt; otherwise the user will speak next. */
  | { readonly kind: 'resume'; readonly by?: 'launcher' }
  | { readonly kind: 'wake' }
  /** The contract says so too, and therefore has another hash. */
  | { readonly kind: 'consent'; readonly contractHash: string }
  | { readonly kind: 'steer'; readonly id: string; readonly text: string; readonly delivery: 'now' | 'next' }
  | {
      readonly kind: 'accept';
      /** Of the announcement, which is delivered once. */
      readonly id: string;
      readonly contractHash: string;
      readonly maxIterations: number;
      /** The changes in one line, for the agent and the user at work. */
      readonly changes: string;
      /** The checklist as it stands now, which the user takes for the whole of it. */
      readonly checklist?: ChecklistCount;
    };

/** Everything that can happen to a loop. `at` is the wall clock when it happened. */
export type EngineEvent =
  | {
      readonly type: 'iteration-ended';
      readonly at: string;
      readonly text: string;
      readonly promptId: string | null;
      /** Who began the turn, where its prompt is not the one the loop knows: `user` for a person's own command. */
      readonly origin: 'loop' | 'user';
      /** The same payload with the same mark is one turn's end, delivered twice. */
      readonly transcriptMark: string;
      readonly toolCalls: number;
      readonly deniedCalls: number;
      /** The agent does not tell of its calls: none that were counted need not mean that it made none. */
      readonly callsUnknown?: boolean;
      readonly usage: UsageDelta | null;
      readonly costUsd: number | null;
      /** The checklist as the iteration left it; absent where the task is none, or its file is gone. */
      readonly checklist?: ChecklistCount;
      readonly reflected?: boolean;
      /** The task itself says that it is done: a claim, as a signal is one. */
      readonly taskDone?: boolean;
      readonly progress: 'yes' | 'no' | 'unknown';
      /** Fingerprint of the project now, kept for the next comparison; null if not requested. */
      readonly projectMark: string | null;
      readonly error: string | null;
      /** The time that the policy gives an iteration ran out before the agent had ended its message. */
      readonly timedOut: boolean;
      readonly failedShellCalls: number;
      readonly scenario: string | null;
      /** Fingerprint of what idle watches, taken now; null when nothing is watched. */
      readonly seen: string | null;
    }
  | {
      readonly type: 'verified';
      readonly at: string;
      readonly results: readonly CheckResult[];
      /** There for a plan: the attempt that was verified, and the plan as it stands now. */
      readonly plan?: PlanAttempt;
    }
  | { readonly type: 'plan-read'; readonly at: string; readonly tasks: readonly ToldTask[]; readonly commit: string }
  | { readonly type: 'operator'; readonly at: string; readonly command: OperatorCommand }
  | {
      readonly type: 'time-passed';
      readonly at: string;
      /** Why the driver stopped waiting. `quiet`: it looked for changes and found none. */
      readonly cause: 'elapsed' | 'changed' | 'quiet' | 'message' | 'notification' | 'deadline';
      readonly seen: string | null;
    }
  | {
      readonly type: 'user-prompt';
      readonly at: string;
      /** A prompt with the id of the running turn was queued while the agent worked, so nothing was interrupted. */
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
  /** A driver cannot have the agent work: the loop ends as an error, and the message says how to go on. */
  | { readonly type: 'agent-failed'; readonly at: string; readonly message: Message | string }
  /** A budget that several loops share is used up; `reading` says how far. */
  | { readonly type: 'shared-budget-reached'; readonly at: string; readonly reading: string }
  /** A notice for the user and the next prompt; the same key is announced once. */
  | { readonly type: 'noticed'; readonly at: string; readonly key: string; readonly warning: Message | string }
  | { readonly type: 'waited-out'; readonly at: string; readonly taskIds: readonly string[] }
  | { readonly type: 'steering-delivered'; readonly at: string; readonly ids: readonly string[] }
  /** A slow prompt is ready, and the iteration begins; or it was given up, and the next one carries its contents. */
  | { readonly type: 'prompt-made'; readonly at: string; readonly outcome: 'ready' | 'given-up' }
  /** A driver begins a turn by a prompt of its own, which is to carry what the state hands over to it. */
  | { readonly type: 'first-prompt'; readonly at: string };

export type EventOf<T extends EngineEvent['type']> = Extract<EngineEvent, { type: T }>;

export interface ApiError {
  readonly kind: 'rate-limited' | 'authentication' | 'billing' | 'invalid-request' | 'overloaded' | 'other';
  readonly message: string;
  readonly resetsAt: string | null;
}

/** Maximum length of a message to the agent; a longer one is a task. */
const LIMIT = 20_000;

/** Returns the command that steers the agent. Throws RalphError `usage` for a text that is too long. */
export function steering(id: string, text: string, delivery: 'now' | 'next'): OperatorCommand {
  if (text.length > LIMIT) {
    throw new RalphError(
      'usage',
      `the text has ${text.length} characters; at most ${LIMIT}. Put it into the task file.`,
    );
  }
  return { kind: 'steer', id, text, delivery };
}

/** A lesson that the engine itself writes into guardrails.md. */
export interface Sign {
  readonly name: string;
  readonly trigger: string;
  readonly instruction: string;
  readonly addedAfter: string;
}

/** What a prompt tells before the task itself. */
export interface Told {
  readonly notices: Notices;
  readonly steering: readonly Steering[];
}

/** What the driver has to carry out. A driver holds no rule of its own. */
export type Effect =
  /** Send the task back, with these notices and this steering before it. */
  | ({ readonly type: 'prompt' } & Told)
  /** Let the turn end. `message` is for the user. */
  | { readonly type: 'allow'; readonly message: string | null }
  /** Wait until then, looking out for what ends a wait early, then report `time-passed`. */
  | { readonly type: 'wait'; readonly until: string }
  /** Look whether what is watched has changed, then report `time-passed` with `changed` or `quiet`. */
  | { readonly type: 'look' }
  | { readonly type: 'verify' }
  | { readonly type: 'record-iteration'; readonly record: IterationRecord }
  | { readonly type: 'record-event'; readonly event: LoopEvent }
  | { readonly type: 'add-sign'; readonly sign: Sign }
  /** Move the state, whole, into the archive. `message` says for later loops how this one ended, without commands for the user. */
  | { readonly type: 'archive'; readonly as: TerminalStatus; readonly message: string }
  | { readonly type: 'notify'; readonly message: string }
  /** The same delivery again: print nothing, change nothing. */
  | { readonly type: 'ignore' };
