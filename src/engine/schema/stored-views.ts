import * as z from 'zod';
import { contract, policy, taskTerms } from './contract.ts';
import { commandOutcome, iterationRecord, runStatus, taskIterationRecord } from './records.ts';
import { count, instant } from './scalars.ts';

/** Views: the parts of stored files that readers use. The build makes shapes of them. */
const text = z.string().min(1);

/** Contract as a hook reads it. Its hash proves the whole contract before anything runs. */
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
  /** Its report was counted. The state agrees, unless it was rewritten. */
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
  /** Ids and titles of findings that were seen open and not yet fixed. */
  findings: z.array(z.string()),
  /** First lines of questions under P0 and P1 that were seen open and not yet answered. */
  questions: z.array(z.string()),
  /** Marks of the required outputs that were there before the start, by path. */
  outputs: z.record(z.string(), z.string()),
  /** Marks of files that the agent had not changed, as checks and commands of the loop left them, by path. */
  written: z.record(z.string(), z.string()).optional(),
});

export type Seen = z.infer<typeof seen>;
