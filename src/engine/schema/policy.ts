import * as z from 'zod';
import { count } from './scalars.ts';

const threshold = count;

/** How a loop decides, resolved once at the start and fixed in the contract. All durations in milliseconds. */
export const policy = z.strictObject({
  /** What the agent writes to claim completion. `none`: the loop runs to its limits. */
  completion: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('signal'), text: z.string().min(1) }),
    z.strictObject({ kind: z.literal('promise'), text: z.string().min(1) }),
    z.strictObject({ kind: z.literal('none') }),
  ]),
  signalMatch: z.enum(['line', 'anywhere']),
  maxIterations: z.int().min(1).max(100),
  reinject: z.enum(['auto', 'reason', 'context', 'pointer']),
  idle: z
    .strictObject({
      delayMs: z.number().positive(),
      backoff: z.number().min(1),
      maxDelayMs: z.number().positive(),
      maxMs: z.number().positive(),
      wake: z.enum(['time', 'change']),
      watch: z.array(z.string()),
      maxQuietMs: z.number().positive().nullable(),
    })
    .nullable(),
  /** Consecutive repeats that trip the breaker; 0 switches the signal off. */
  breaker: z.strictObject({
    findings: threshold,
    noProgress: threshold,
    sameReply: threshold,
    sameError: threshold,
    denials: threshold,
    tdd: threshold,
  }),
  budget: z.strictObject({
    maxCostUsd: z.number().positive().nullable(),
    maxTokens: z.number().positive().nullable(),
    maxTimeMs: z.number().positive().nullable(),
    /** Used shares of the account's limits at which the loop pauses until they reset; absent: none. */
    stopAt: z
      .strictObject({ five_hour: z.number().min(0).max(1).nullable(), seven_day: z.number().min(0).max(1).nullable() })
      .optional(),
    warnAt: z.number().min(0).max(1),
  }),
  /** The task is a plan, worked on task by task; absent for every other. */
  plan: z
    .strictObject({
      /** Tasks done in one session, after which the loop pauses for review. */
      maxTasks: z.int().min(1).max(100),
      from: z.string().min(1).nullable(),
      /** Id of the one task of this loop, which runs beside loops on other tasks; absent: one task after the other. */
      only: z.string().min(1).optional(),
    })
    .optional(),
  backgroundWaitMs: z.number().min(0),
  pace: z.strictObject({
    /** Between two working iterations, beside what idle waits. */
    delayMs: z.number().min(0),
    /** What one iteration may take; null where only the loop's own limits count. */
    iterationTimeoutMs: z.number().positive().nullable(),
    stopOnError: z.boolean(),
    /** Whether the loop's end tells max-iterations and no-progress-exhaustion apart. */
    tracksProgress: z.boolean(),
  }),
});

export type Policy = z.infer<typeof policy>;
export type IdlePolicy = NonNullable<Policy['idle']>;
