import * as z from 'zod';
import { proof } from '../../engine/schema/proof.ts';
import { LOOP_NAME } from '../../state/loop-files.ts';

/** Result of a job: the loop has ended or is paused, with whatever outcome. */
export const loopResult = z.object({
  /** Status of the engine, or a reason of the fleet such as `checkpoint-lost` or `fleet-budget`. */
  outcome: z.string().regex(LOOP_NAME),
  verified: z.boolean(),
  /** What a completion rests on; absent for every other end. */
  proof: proof.optional(),
  iterations: z.int().min(0),
  costUsd: z.number().nullable(),
  tokens: z.number(),
  /** Last checkpoint. */
  sha: z.string().nullable(),
  /** Published branch; null if there is none. */
  branch: z.string().nullable(),
  reason: z.string(),
  report: z.string(),
});

export type LoopResult = z.infer<typeof loopResult>;

/** Progress that the holder of a loop reports after each checkpoint. */
export const loopProgress = z.object({
  attempt: z.int().min(0),
  iteration: z.int().min(0),
  maxIterations: z.int().min(0),
  sha: z.string().nullable(),
  costUsd: z.number().nullable(),
  tokens: z.number(),
  takeOvers: z.int().min(0),
  /** Empty in the progress from before a loop was queued again. */
  worker: z.string(),
  /** Reason why the loop waits; null while it works. */
  waits: z.string().nullable(),
  at: z.string(),
});

export type LoopProgress = z.infer<typeof loopProgress>;
