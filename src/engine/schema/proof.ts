import * as z from 'zod';
import { count } from './scalars.ts';

/** Evidence for a completion; only `none` leaves it unverified. */
export const proof = z.enum(['red-to-green', 'still-green', 'green', 'none']);

const failedTest = z.strictObject({
  name: z.string(),
  file: z.string().nullable(),
  line: count.nullable(),
  message: z.string().nullable(),
});

/** Stored form of a `TestSummary` of src/text/test-results. */
export const testSummary = z.strictObject({
  run: count,
  failed: count,
  skipped: count,
  failures: z.array(failedTest),
  atLeast: z.literal(true).optional(),
});

/** Results of the checks before the first iteration. */
export const baseline = z.strictObject({
  checks: z.array(
    z.strictObject({ name: z.string(), outcome: z.enum(['passed', 'failed']), tests: testSummary.optional() }),
  ),
});

/** What finished work rests on, and the number of its changed files; null if that is unknown. */
export const provedWork = z.strictObject({ proof, files: count.nullable() });

export type ProvedWork = z.infer<typeof provedWork>;
export type Proof = z.infer<typeof proof>;
export type Baseline = z.infer<typeof baseline>;
