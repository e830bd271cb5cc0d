import * as z from 'zod';
import { count } from './instant.ts';

/** How far a plan has come in this session. Its own file says what is done; this says what is in work. */
export const planState = z.object({
  /** The task that the agent works on, and the commit that it began from; null before a prompt was made. */
  current: z.object({ id: z.string(), title: z.string(), commit: z.string() }).nullable(),
  /** Attempts at it that did not pass. */
  attempts: count,
  /** Ids of the tasks done in this session. */
  done: z.array(z.string()),
  /** Ids of the tasks that were blocked when the session began: they are passed over. null until the plan was read. */
  blocked: z.array(z.string()).nullable(),
  /** What the agent said when it last ended its turn, and how it stood by its own word. */
  report: z.object({ text: z.string(), said: z.enum(['done', 'partial', 'blocked']) }).nullable(),
});

export type PlanState = z.infer<typeof planState>;
