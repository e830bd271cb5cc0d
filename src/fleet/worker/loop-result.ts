import * as z from 'zod';
import { LOOP_NAME } from '../../state/loop-files.ts';

/** What a job returns: the loop has ended or is paused, whatever came of it. */
export const loopResult = z.object({
  /** A final status of the engine, or `paused`, `contract-changed`, `checkpoint-lost`, `take-overs`, `fleet-budget`, `set-up-failed`, `blocked`. */
  outcome: z.string().regex(LOOP_NAME),
  verified: z.boolean(),
  iterations: z.int().min(0),
  costUsd: z.number().nullable(),
  tokens: z.number(),
  /** Last checkpoint. */
  sha: z.string().nullable(),
  /** The branch that was published; null if none was. */
  branch: z.string().nullable(),
  reason: z.string(),
  report: z.string(),
});

export type LoopResult = z.infer<typeof loopResult>;

/** What the holder of a loop tells about it after each checkpoint. */
export const loopProgress = z.object({
  attempt: z.int().min(0),
  iteration: z.int().min(0),
  maxIterations: z.int().min(0),
  sha: z.string().nullable(),
  costUsd: z.number().nullable(),
  tokens: z.number(),
  takeOvers: z.int().min(0),
  /** Empty in what a loop had before it was queued again. */
  worker: z.string(),
  /** Why the loop waits; null while it works. */
  waits: z.string().nullable(),
  at: z.string(),
});

export type LoopProgress = z.infer<typeof loopProgress>;
