import * as z from 'zod';
import { count } from './scalars.ts';

/** Progress of a plan in this session. The plan file records what is done; this records the task in progress. */
export const planState = z.object({
  /** Current task and the commit from which it began; null before the first prompt. */
  current: z.object({ id: z.string(), title: z.string(), commit: z.string() }).nullable(),
  attempts: count,
  /** True if its work was returned to the agent because it conflicted with the later work of other tasks. */
  returned: z.boolean().optional(),
  done: z.array(z.string()),
  /** True if the user, who may have edited the plan, has resumed the loop since its start; false after a restore. */
  resumed: z.boolean().optional(),
  /** Ids of the tasks that were blocked when the session began and are skipped. null until the plan was read. */
  blocked: z.array(z.string()).nullable(),
  /** The agent's last report and the status that it claimed. */
  report: z.object({ text: z.string(), said: z.enum(['done', 'partial', 'blocked']) }).nullable(),
});

export type PlanState = z.infer<typeof planState>;

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

/** Output of `status PLAN --json`. */
export const planStatus = z.object({
  plan: z.string(),
  done: count,
  total: count,
  next: z.object({ id: z.string(), title: z.string() }).nullable(),
  stop,
  tasks: z.array(task),
});

/** Output of `plan check FILE --json`. */
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
  next: z.string().nullable(),
  stop,
});

export type PlanStatusAnswer = z.infer<typeof planStatus>;
export type PlanCheckAnswer = z.infer<typeof planCheck>;
