import * as z from 'zod';
import { baseline, proof, provedWork } from './proof.ts';
import { count, instant } from './scalars.ts';
import { command } from './state.ts';

/** How the work of a loop reached, or will reach, the user's branch. */
const delivery = z.strictObject({
  loopId: z.string().min(1),
  /** Set-up of its worktree: command, and globs of copied files. */
  setUp: z.string().nullable(),
  copies: z.array(z.string()),
  how: z.enum(['merge', 'rebase']),
  /** Last commit of the loop's branch. */
  tip: z.string().min(1),
  /** Commit of the user's branch before and after. */
  from: z.string().min(1),
  commit: z.string().min(1),
});

const task = z.strictObject({
  name: z.string().min(1),
  /** Path relative to the project. */
  taskPath: z.string().min(1),
  /** Id of the task that the loop works on, if `taskPath` is a plan. */
  planTask: z.string().min(1).optional(),
  title: z.string(),
  /** The issue it works on, and whether the end was reported there. */
  issue: z.strictObject({ url: z.string(), told: z.boolean() }).optional(),
  /** null until its loop has begun. */
  loopId: z.string().nullable(),
  /** Options of its run that the user was asked about. */
  words: z.array(z.string()),
  /** `started`: its worktree may exist. `ended`: its loop has ended; `end` records how. */
  step: z.enum(['waiting', 'started', 'ended']),
  end: z
    .strictObject({
      status: z.string(),
      code: count,
      iterations: count.nullable(),
      costUsd: z.number().nullable(),
      tokens: z.number(),
      message: z.string(),
      integrated: z.string().nullable(),
      /** Reason why a complete loop was not integrated. */
      problem: z.string().nullable(),
      durationMs: z.number().nullable(),
      /** null for work that is not complete, or whose process was killed. */
      proved: provedWork.nullable(),
      /** Present once the user's branch is about to move. */
      delivery: delivery.optional(),
      /** Commit of an integrated task. */
      commit: z.string().nullable(),
    })
    .nullable(),
});

/**
 * Tasks that run side by side. Stored outside the project, so that a killed run can be resumed; one that is over is moved to the
 * archive of the project.
 */
export const batch = z.strictObject({
  startedAt: z.string(),
  /** Milliseconds since then of sleep or without a driver, less those by which the clock was set back. */
  stoppedMs: z.number(),
  title: z.string(),
  /** How it ended; null while it is driven, and after a kill. */
  ended: z
    .strictObject({
      at: z.string(),
      status: z.string(),
      text: z.string(),
      /** Command that continues it; null if there is none. */
      next: command.extend({ verb: z.string() }).nullable(),
    })
    .nullable(),
  runner: z.object({ pid: count, startedAt: z.string().nullable() }),
  atOnce: count,
  integrate: z.enum(['none', 'merge', 'rebase', 'pr']),
  /** Limits for all loops together; null is no limit. */
  limits: z.strictObject({
    maxCostUsd: z.number().nullable(),
    maxTokens: z.number().nullable(),
    maxTimeMs: z.number().nullable(),
  }),
  /** New loops replace the remains of earlier ones in worktrees of the same names. */
  fresh: z.boolean(),
  /** Options of each run, and the client's own after `--`. */
  words: z.array(z.string()),
  rest: z.array(z.string()),
  tasks: z.array(task),
  /** Present for the tasks of a plan; `tasks` then holds those that have begun. */
  plan: z
    .strictObject({
      path: z.string().min(1),
      branch: z.string().min(1),
      from: z.string().nullable(),
      maxTasks: count,
      /** All tasks of the plan, as last read. */
      tasks: z.array(
        z.strictObject({ id: z.string(), title: z.string(), status: z.string(), needs: z.array(z.string()) }),
      ),
      /** Ids of the tasks done in this session, and of those that were blocked at its start. */
      done: z.array(z.string()),
      blocked: z.array(z.string()),
      /** Keys of the tasks that the user had marked (no-change) when the session began. */
      noChange: z.array(z.string()).optional(),
      /** Commit with which the files that its checks rest on or protect are compared; absent in older records. */
      rests: z
        .strictObject({ commit: z.string().min(1), files: z.array(z.string()), patterns: z.array(z.string()) })
        .optional(),
      /** Results of the last verification, or of that before the start until a task is done; absent if unknown. */
      baseline: baseline.optional(),
      /** Files that the checks wrote before the start. */
      written: z.array(z.string()).optional(),
    })
    .optional(),
});

export type Batch = z.infer<typeof batch>;
export type BatchTask = z.infer<typeof task>;
export type Delivery = z.infer<typeof delivery>;

const figures = {
  /** null: unknown. */
  iterations: count.nullable(),
  costUsd: z.number().nullable(),
  tokens: count.nullable(),
  durationMs: z.number().min(0).nullable(),
};

const runTask = z.strictObject({
  /** Id in the plan; without a plan, the name of its loop. */
  id: z.string(),
  title: z.string(),
  /** Status of its loop, or how that ended; `not-started` before; `manual-verify` if a person has to verify the task. */
  status: z.string(),
  /** True once it is complete and, where the run delivers it, delivered. */
  done: z.boolean(),
  /** Ids of the tasks that must be done before it. */
  needs: z.array(z.string()),
  /** What its completion rests on, and the number of changed files. */
  proof: proof.nullable(),
  files: count.nullable(),
  ...figures,
  /** Commit of a done task, or the branch that holds its work; null if there is none. */
  commit: z.string().nullable(),
  branch: z.string().nullable(),
  /** Loop that works or has worked on it; null before it began. */
  loop: z.strictObject({ name: z.string().nullable(), loopId: z.string().nullable() }).nullable(),
  /** Reason why it is not done; null for a task that is done or active. */
  why: z.string().nullable(),
});

/** Work on several tasks, as `list --json` and `status --json` publish it. */
export const run = z.strictObject({
  id: z.string(),
  title: z.string(),
  /** The plan, relative to the project; null for independent tasks. */
  plan: z.string().nullable(),
  /** Number of agents that work at the same time. */
  atOnce: z.int().min(1),
  /** `running`, `paused` or `interrupted`, or how it ended. `incomplete`: not all of its tasks are done, and none is left to resume. */
  status: z.string(),
  /** False once it has ended. */
  live: z.boolean(),
  startedAt: instant,
  endedAt: instant.nullable(),
  done: count,
  total: count,
  ...figures,
  /** Why it ended or waits; empty while it runs. */
  why: z.string(),
  /** What to do next; empty if nothing. */
  next: z.string(),
  /** The same as commands; absent if there are none. */
  steps: z.array(z.strictObject({ verb: z.string(), command: z.string() })).optional(),
  tasks: z.array(runTask),
});

export type RunTask = z.infer<typeof runTask>;
export type Run = z.infer<typeof run>;
