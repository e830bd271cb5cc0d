import * as z from 'zod';
import { count, instant } from './instant.ts';
import { iterationUsage, taskIterationRecord } from './run-state.ts';

/** A file of `iterations/` in a loop directory: what one iteration used, and what came of it. null is unknown. */
export const loopIteration = z.strictObject({
  loopId: z.string(),
  /** Counted from 1; an idle iteration has the number of the working one before it. */
  iteration: count,
  outcome: taskIterationRecord.shape.status,
  startedAt: instant,
  endedAt: instant,
  durationMs: z.number().min(0),
  /** Tokens and US dollars. */
  usage: iterationUsage.nullable(),
  /** Of the agent's conversation. */
  turns: count.nullable(),
  toolCalls: count.nullable(),
  model: z.string().nullable(),
  /** The checklist as the iteration left it. */
  checklist: z.strictObject({ done: count, total: count }).nullable(),
  /** Whether files or the repository changed durably. */
  progress: taskIterationRecord.shape.progress,
  /** How a claim of completion fared: a finished checklist, or what the agent said. */
  completion: taskIterationRecord.shape.completion,
  /** The first lines of the agent's final message, secrets masked. */
  summary: z.string(),
});

export type LoopIteration = z.infer<typeof loopIteration>;
