import * as z from 'zod';
import { count } from './scalars.ts';

/** How far a plan has come in this session. Its own file says what is done; this says what is in work. */
export const planState = z.object({
  /** The task that the agent works on, and the commit that it began from; null before a prompt was made. */
  current: z.object({ id: z.string(), title: z.string(), commit: z.string() }).nullable(),
  /** Attempts at it that did not pass. */
  attempts: count,
  /** Whether its work was returned to the agent because it did not fit what other tasks had done meanwhile. */
  returned: z.boolean().optional(),
  done: z.array(z.string()),
  /** Ids of the tasks that were blocked when the session began: they are passed over. null until the plan was read. */
  blocked: z.array(z.string()).nullable(),
  /** What the agent said when it last ended its turn, and how it stood by its own word. */
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

/** What `status PLAN --json` prints. */
export const planStatus = z.object({
  plan: z.string(),
  done: count,
  total: count,
  next: z.object({ id: z.string(), title: z.string() }).nullable(),
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
  next: z.string().nullable(),
  stop,
});

export type PlanStatusAnswer = z.infer<typeof planStatus>;
export type PlanCheckAnswer = z.infer<typeof planCheck>;
