import * as z from 'zod';
import { PREVIEW_LIMIT } from '../../text/quote.ts';
import { contract, guardrails, policy, taskTerms } from './contract.ts';
import { proof } from './proof.ts';
import { count, instant } from './scalars.ts';
import { terminalStatus } from './state.ts';

/** Agents of an iteration and their total usage, from a driver that followed them itself. null is unknown. */
const agentRecord = z.strictObject({
  model: z.string().nullable(),
  turns: count.nullable(),
  /** Session of the client; absent if the iteration belongs to the session of its loop. */
  sessionId: z.string().optional(),
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
  /** Reasons why the gate rejected the claim; empty if it passed or did not run. */
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
    /** Reasons why the last claim was rejected; empty if none was, or if the claim after it passed. */
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

/** Views: the parts of stored files that readers use. The build derives shapes from them. */
const text = z.string().min(1);

/** Contract as a hook reads it. The hash of the whole contract is verified before anything runs. */
export const contractView = z.object({
  hash: z.string(),
  contract: contract
    .pick({ loopId: true, taskPath: true, createdAt: true, head: true, findingsLog: true, consented: true })
    .extend({
      ...contract.pick({ clientVersion: true, bundleDir: true, evidence: true, scripts: true, validation: true }).shape,
      task: taskTerms.pick({ args: true, requiredOutputs: true, commands: true }).nullable(),
      policy: policy.omit({ signalMatch: true, plan: true }),
    }),
});

/** Counters of an iteration record, for restoring a state. */
export const countersView = iterationRecord.pick({
  iteration: true,
  idleIterations: true,
  findings: true,
  endedAt: true,
});

/** Fields of an iteration record, for an iteration missing from its task folder. */
export const lostIterationView = iterationRecord.pick({
  startedAt: true,
  endedAt: true,
  durationMs: true,
  claimed: true,
});

export const runStatusView = runStatus.omit({ guardrails: true });

export const taskIterationView = taskIterationRecord
  .pick({ loopId: true, iteration: true, status: true, endedAt: true, durationMs: true })
  .extend({
    ...taskIterationRecord.pick({ progress: true, changedFiles: true, completion: true }).shape,
    commands: z.array(commandOutcome.pick({ name: true, outcome: true })),
  });

const marks = z.object({
  files: z.record(z.string(), z.string()),
  /** False if some files were left out or unreadable: a missing path then proves nothing. */
  complete: z.boolean(),
  limits: z.array(z.string()),
});

const gitState = z.object({
  head: z.string(),
  index: z.record(z.string(), z.string()),
  /** Files that differ from the index, and untracked files. */
  tree: marks,
  /** Changes committed since another snapshot, at most 200 files; null if HEAD is the same or they are unknown. */
  committed: z.object({ since: z.string(), files: z.array(z.string()), onlyLeftOut: z.boolean() }).nullable(),
});

/** Project at the time when the prompt of an iteration was made, to measure durable progress. */
const snapshot = z.object({
  version: z.literal(1),
  /** All paths are relative to the project; '' is the project itself. */
  taskDir: z.string(),
  task: marks,
  git: gitState.nullable(),
  gitLimit: z.string().nullable(),
});

export type Marks = Readonly<z.infer<typeof marks>>;
export type GitState = Readonly<z.infer<typeof gitState>>;
export type Snapshot = Readonly<z.infer<typeof snapshot>>;

/** Facts about a task folder's iteration when its prompt was made, for the process that decides how it ended. */
export const promptedTurnView = z.object({
  loopId: z.string(),
  /** Iteration that the prompt begins, from 1. */
  iteration: count,
  at: instant,
  prompt: z.string(),
  evidence: z.array(
    commandOutcome.extend({
      run: z.string(),
      preview: z.string(),
      exitCode: z.number().nullable(),
      output: z.string(),
    }),
  ),
  /** Null for a prompt file, whose progress is not measured. */
  snapshot: snapshot.nullable(),
  reflected: z.boolean().optional(),
});

/** Last assigned spawn. Stored outside the project, where the agent does not write. */
export const spawnView = z.object({
  loopId: text,
  /** Epoch of its holder; the next holder assigns a new one. */
  epoch: count,
  /** True once its report was counted. The state agrees, unless it was rewritten. */
  heard: z.boolean(),
  /** Last subagent whose report was counted, if the host named it; it is not counted again. */
  heardOf: z.string().nullable(),
  /** Number of texts without a spawn number that may repeat the previous report. */
  doubts: count,
  /** Number of subagents that failed on it, and when the next one may start. */
  failures: count.optional(),
  retryAt: instant.optional(),
  answer: z.object({
    action: z.literal('spawn'),
    /** Number of the spawn within the loop, to be passed to `report`. */
    spawn: z.int().min(1).max(999_999_999),
    loopId: text,
    loop: z.string().nullable(),
    /** Iteration that it begins, from 1. An idle one does not count, so the next can have the same number. */
    iteration: count,
    maxIterations: count,
    agentType: text,
    description: z.string(),
    /** Globs of files that the work may change, relative to the project; null if the task names none. */
    allowedScope: z.array(z.string()).nullable(),
    /** Time limit of the iteration; null if it has none. */
    timeoutSeconds: z.number().min(0).nullable(),
    prompt: z.string(),
  }),
});

export type PromptedTurn = Readonly<z.infer<typeof promptedTurnView>>;
export type SpawnRecord = Readonly<z.infer<typeof spawnView>>;

/** What a loop has seen in files that its agent writes. Stored outside the project. */
export const seen = z.strictObject({
  loopId: z.string().min(1),
  /** First lines of all items that the checklist has had. */
  items: z.array(z.string()),
  /** Ids and titles of findings that were seen open and are not yet fixed. */
  findings: z.array(z.string()),
  /** First lines of questions under P0 and P1 that were seen open and are not yet answered. */
  questions: z.array(z.string()),
  /** Marks of the required outputs that existed before the start, by path. */
  outputs: z.record(z.string(), z.string()),
  /** Marks of files, by path, as checks and commands of the loop left them, that the agent has not changed. */
  written: z.record(z.string(), z.string()).optional(),
});

export type Seen = z.infer<typeof seen>;
