import * as z from 'zod';
import { proof } from './proof.ts';
import { count, instant } from './scalars.ts';

const figures = {
  /** null: unknown. */
  iterations: count.nullable(),
  costUsd: z.number().nullable(),
  tokens: count.nullable(),
  durationMs: z.number().min(0).nullable(),
};

export const runTask = z.strictObject({
  /** Id in the plan; without a plan, the name of its loop. */
  id: z.string(),
  title: z.string(),
  /** Status of its loop, or how that ended; `not-started` before it began, `manual-verify` if a person has to verify it. */
  status: z.string(),
  /** True once it is complete and, where the run delivers it, delivered. */
  done: z.boolean(),
  /** Ids of the tasks that have to be done before it. */
  needs: z.array(z.string()),
  /** What its completion rests on, and the number of changed files. */
  proof: proof.nullable(),
  files: count.nullable(),
  ...figures,
  /** Commit of a task that is done, or the branch that holds its work; null if there is none. */
  commit: z.string().nullable(),
  branch: z.string().nullable(),
  /** Loop that works or has worked on it; null before it began. */
  loop: z.strictObject({ name: z.string().nullable(), loopId: z.string().nullable() }).nullable(),
  /** Reason why it is not done; null for a task that is done or at work. */
  why: z.string().nullable(),
});

/** Work on several tasks, as `list --json` and `status --json` publish it. */
export const run = z.strictObject({
  id: z.string(),
  title: z.string(),
  /** The plan, relative to the project; null for independent tasks. */
  plan: z.string().nullable(),
  /** Number of agents at once. */
  atOnce: z.int().min(1),
  /** `running`, `paused` or `interrupted`, or how it ended. `incomplete`: not all of its tasks are done, and none is left to resume. */
  status: z.string(),
  /** True unless it has ended. */
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
  /** The same as commands; absent if there is none. */
  steps: z.array(z.strictObject({ verb: z.string(), command: z.string() })).optional(),
  tasks: z.array(runTask),
});

export type RunTask = z.infer<typeof runTask>;
export type Run = z.infer<typeof run>;
