import * as z from 'zod';
import { count } from './instant.ts';

const line = z.int().min(1);
const stop = z.enum(['complete', 'needs-verification', 'blocked', 'paused-for-review']).nullable();

const task = z.object({
  id: z.string(),
  title: z.string(),
  status: z.enum(['open', 'done', 'blocked', 'manual-verify']),
  dependsOn: z.array(z.string()),
  scope: z.array(z.string()),
  line,
});

/** What `status PLAN --json` prints. */
export const planStatus = z.object({
  /** Relative to the project. */
  plan: z.string(),
  done: count,
  total: count,
  next: z.object({ id: z.string(), title: z.string() }).nullable(),
  /** Why no task can be worked on; null where one can. */
  stop,
  tasks: z.array(task),
});

/** What `plan check FILE --json` prints. */
export const planCheck = z.object({
  ok: z.boolean(),
  tasks: z.array(task),
  problems: z.array(
    z.object({
      line,
      taskId: z.string().nullable(),
      rule: z.string(),
      message: z.string(),
      severity: z.enum(['error', 'warning']),
    }),
  ),
  /** The id of the task that comes next. */
  next: z.string().nullable(),
  stop,
});

export type PlanStatusAnswer = z.infer<typeof planStatus>;
export type PlanCheckAnswer = z.infer<typeof planCheck>;
