import * as z from 'zod';
import { PREVIEW_LIMIT } from '../../text/quote.ts';
import { guardrails, policy, taskTerms } from './contract.ts';
import { proof } from './proof.ts';
import { count, instant } from './scalars.ts';
import { terminalStatus } from './state.ts';

/** Agents of an iteration and their total usage, from a driver that followed them itself. null is unknown. */
const agentRecord = z.strictObject({
  model: z.string().nullable(),
  turns: count.nullable(),
  durationMs: z.number().min(0),
  /** Cost in US dollars, including subagents and failed runs; the same applies to tokens. */
  costUsd: z.number().min(0).nullable(),
  usage: z
    .strictObject({ inputTokens: count, outputTokens: count, cacheReadTokens: count, cacheWriteTokens: count })
    .nullable(),
});

/** Record of an iteration and of the decision after it: the event `iteration.ended`. */
export const iterationRecord = z.strictObject({
  loopId: z.string(),
  iteration: count,
  idleIterations: count,
  kind: z.enum(['working', 'idle']),
  startedAt: instant,
  endedAt: instant,
  durationMs: z.number().min(0),
  findings: count.nullable(),
  states: z.array(z.string()),
  claimed: z.boolean(),
  toolCalls: count,
  deniedCalls: count,
  outputTokens: count.nullable(),
  decision: z.string(),
  /** Consecutive repeats of each signal of the circuit breaker. */
  breaker: policy.shape.breaker.optional(),
  agent: agentRecord.optional(),
});

/** Decision in the event stream. `type` is stable; other keys depend on it. */
export const loopEvent = z.looseObject({
  type: z.string(),
  at: instant,
  loopId: z.string(),
  iteration: count,
  status: terminalStatus.optional(),
  proof: proof.optional(),
  message: z.string().optional(),
});

/** Notice for a loop's end report, status, explain and archive, such as an accepted change. `text` is one line. */
const loopNotice = z.strictObject({
  at: instant,
  loopId: z.string(),
  iteration: count,
  kind: z.enum(['accept', 'consent', 'restore', 'change', 'counters', 'evidence', 'allow', 'undo', 'undo-back']),
  text: z.string(),
  /** A key is recorded only once in a loop. */
  key: z.string().optional(),
  /** Further facts for the journal, such as a complete diff. */
  details: z.record(z.string(), z.unknown()).optional(),
});

export type LoopNotice = z.infer<typeof loopNotice>;
export type AgentRecord = z.infer<typeof agentRecord>;
export type IterationRecord = z.infer<typeof iterationRecord>;
export type LoopEvent = z.infer<typeof loopEvent>;

export const commandOutcome = z.strictObject({
  name: z.string(),
  /** `error` is a non-zero exit code or a command that could not be started. */
  outcome: z.enum(['ok', 'blocked', 'timeout', 'error']),
  durationMs: z.number().min(0),
  /** True if the prompt got only part of the output. */
  truncated: z.boolean(),
  bytes: count,
  preview: z.string().max(PREVIEW_LIMIT),
});

const claim = z.strictObject({
  promiseSeen: z.boolean(),
  gateChecked: z.boolean(),
  gatePassed: z.boolean(),
  /** Reasons for the gate's rejection; empty if it passed or did not run. */
  reasons: z.array(z.string()),
});

const iterationUsage = z.strictObject({
  inputTokens: count.nullable(),
  outputTokens: count.nullable(),
  cacheReadTokens: count.nullable(),
  cacheWriteTokens: count.nullable(),
  costUsd: z.number().min(0).nullable(),
});

/** Line of iterations.jsonl in a task folder's `.ralph-runner`. */
export const taskIterationRecord = z.strictObject({
  loopId: z.string(),
  /** Number from 1; an idle iteration has that of the working one before it. */
  iteration: count,
  /** `interrupted`: the process that counted it died; its changes and gate results are unknown. */
  status: z.enum(['completed', 'idle', 'timeout', 'error', 'interrupted']),
  startedAt: instant,
  endedAt: instant,
  durationMs: z.number().min(0),
  /** True if files or the repository changed durably; `unknown` if the tree is too large. */
  progress: z.union([z.boolean(), z.literal('unknown')]),
  changedFiles: z.array(z.string()),
  /** Consecutive iterations without progress, including this one. */
  noProgressStreak: count,
  completion: claim,
  commands: z.array(commandOutcome),
  /** Limits that cut a snapshot of the files short; empty if it was complete. */
  snapshotBounds: z.array(z.string()),
  usage: iterationUsage.nullable(),
});

/** Content of status.json in a task folder's `.ralph-runner`: status or end of the run. */
export const runStatus = z.strictObject({
  loopId: z.string(),
  name: z.string().nullable(),
  taskPath: z.string(),
  status: z.enum(['running', 'waiting', 'verifying', 'paused', 'awaiting-consent', ...terminalStatus.options]),
  iteration: count,
  maxIterations: count,
  idleIterations: count,
  startedAt: instant,
  updatedAt: instant,
  endedAt: instant.nullable(),
  completion: z.strictObject({
    promise: z.string().nullable(),
    gate: taskTerms.shape.gate,
    requiredOutputs: z.array(z.string()),
    /** True if the completion has a proof other than `none`. */
    verified: z.boolean(),
    /** What a completion rests on; absent for a loop that is not complete. */
    proof: proof.optional(),
    /** Reasons why the last claim was rejected; empty if none was, or none since. */
    rejection: z.array(z.string()),
  }),
  guardrails,
  /** Explanation of the status for people: why the run ended or waits. */
  message: z.string().nullable(),
});

export type CommandOutcome = z.infer<typeof commandOutcome>;
export type TaskIterationRecord = z.infer<typeof taskIterationRecord>;
export type RunStatus = z.infer<typeof runStatus>;

/** File of `iterations/` in a loop directory: usage and result of one iteration. null is unknown. */
export const loopIteration = z.strictObject({
  loopId: z.string(),
  /** Number from 1; an idle iteration has that of the working one before it. */
  iteration: count,
  outcome: taskIterationRecord.shape.status,
  startedAt: instant,
  endedAt: instant,
  durationMs: z.number().min(0),
  usage: iterationUsage.nullable(),
  turns: count.nullable(),
  toolCalls: count.nullable(),
  model: z.string().nullable(),
  checklist: z.strictObject({ done: count, total: count }).nullable(),
  progress: taskIterationRecord.shape.progress,
  completion: taskIterationRecord.shape.completion,
  /** First lines of the agent's final message, with secrets masked. */
  summary: z.string(),
});

export type LoopIteration = z.infer<typeof loopIteration>;
