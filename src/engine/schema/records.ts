import * as z from 'zod';
import { PREVIEW_LIMIT } from '../../text/excerpt.ts';
import { guardrails, taskTerms } from './contract.ts';
import { count, instant } from './scalars.ts';
import { terminalStatus } from './state.ts';

/** What an iteration's agents were and used, all together, where a driver has heard them itself. null is unknown. */
export const agentRecord = z.strictObject({
  model: z.string().nullable(),
  turns: count.nullable(),
  durationMs: z.number().min(0),
  /** US dollars, subagents and runs that broke included; so for tokens. */
  costUsd: z.number().min(0).nullable(),
  usage: z
    .strictObject({ inputTokens: count, outputTokens: count, cacheReadTokens: count, cacheWriteTokens: count })
    .nullable(),
});

/** What an iteration did and what was decided after it: the event `iteration.ended`. */
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
  /** How often in a row each signal of the circuit breaker has been seen; absent in records of former versions. */
  breaker: z
    .strictObject({
      ...{ findings: count, noProgress: count, sameReply: count, sameError: count, denials: count, tdd: count },
    })
    .optional(),
  agent: agentRecord.optional(),
});

/** A decision in the event stream. `type` is stable; the other keys belong to the type. */
export const loopEvent = z.looseObject({
  type: z.string(),
  at: instant,
  loopId: z.string(),
  iteration: count,
  status: terminalStatus.optional(),
  message: z.string().optional(),
});

/** Something that a loop's end report, status, explain and archive name, such as an accepted change. `text` is one line. */
export const loopNotice = z.strictObject({
  at: instant,
  loopId: z.string(),
  iteration: count,
  kind: z.enum(['accept', 'consent', 'restore', 'change']),
  text: z.string(),
  /** The same key is recorded once in a loop. */
  key: z.string().optional(),
  /** Further facts for the journal, such as a whole diff. */
  details: z.record(z.string(), z.unknown()).optional(),
});

export type LoopNotice = z.infer<typeof loopNotice>;
export type AgentRecord = z.infer<typeof agentRecord>;
export type IterationRecord = z.infer<typeof iterationRecord>;
export type LoopEvent = z.infer<typeof loopEvent>;

/** How a command of an iteration came out. */
export const commandOutcome = z.strictObject({
  name: z.string(),
  /** `error` is a non-zero exit or a command that could not be started. */
  outcome: z.enum(['ok', 'blocked', 'timeout', 'error']),
  durationMs: z.number().min(0),
  /** Whether the prompt got less than the whole output. */
  truncated: z.boolean(),
  bytes: count,
  preview: z.string().max(PREVIEW_LIMIT),
});

/** How a claim of completion fared. */
const claim = z.strictObject({
  promiseSeen: z.boolean(),
  gateChecked: z.boolean(),
  gatePassed: z.boolean(),
  /** Why the gate refused; empty where it passed or was not asked. */
  reasons: z.array(z.string()),
});

export const iterationUsage = z.strictObject({
  inputTokens: count.nullable(),
  outputTokens: count.nullable(),
  cacheReadTokens: count.nullable(),
  cacheWriteTokens: count.nullable(),
  costUsd: z.number().min(0).nullable(),
});

/** One line of iterations.jsonl in a task folder's `.ralph-runner`. */
export const taskIterationRecord = z.strictObject({
  loopId: z.string(),
  /** Counted from 1; an idle iteration has the number of the working one before it. */
  iteration: count,
  /** `interrupted`: the process that had counted it died; its changes and gate results are unknown. */
  status: z.enum(['completed', 'idle', 'timeout', 'error', 'interrupted']),
  startedAt: instant,
  endedAt: instant,
  durationMs: z.number().min(0),
  /** Whether files or the repository changed durably; `unknown` where the tree is too large to tell. */
  progress: z.union([z.boolean(), z.literal('unknown')]),
  changedFiles: z.array(z.string()),
  /** Consecutive iterations without progress, this one included. */
  noProgressStreak: count,
  completion: claim,
  commands: z.array(commandOutcome),
  /** Which bounds cut a snapshot of the files short; empty where they were seen whole. */
  snapshotBounds: z.array(z.string()),
  usage: iterationUsage.nullable(),
});

/** status.json in a task folder's `.ralph-runner`: how the run stands, or how it ended. */
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
    /** true only when checks ran and all of them passed. */
    verified: z.boolean(),
    /** Why the last claim was rejected; empty where none was, or none since. */
    rejection: z.array(z.string()),
  }),
  guardrails,
  /** What a person should know of the status: why it ended or waits. */
  message: z.string().nullable(),
});

export type CommandOutcome = z.infer<typeof commandOutcome>;
export type TaskIterationRecord = z.infer<typeof taskIterationRecord>;
export type RunStatus = z.infer<typeof runStatus>;

/** A file of `iterations/` in a loop directory: what one iteration used, and what came of it. null is unknown. */
export const loopIteration = z.strictObject({
  loopId: z.string(),
  /** Counted from 1; an idle iteration has the number of the working one before it. */
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
  /** The first lines of the agent's final message, secrets masked. */
  summary: z.string(),
});

export type LoopIteration = z.infer<typeof loopIteration>;
