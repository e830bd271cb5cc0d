import * as z from 'zod';
import { PROOF_VERSION } from './constants.ts';
import { count, instant } from './scalars.ts';

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

/** How many tests a check ran. */
export const testCounts = testSummary.pick({ run: true, failed: true, skipped: true });

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
export type TestCounts = z.infer<typeof testCounts>;
export type Baseline = z.infer<typeof baseline>;

const sha256 = z.string().regex(/^[0-9a-f]{64}$/);
const object = z.string().regex(/^[0-9a-f]{40,64}$/);

const check = z.strictObject({
  name: z.string(),
  /** Command, with secrets masked; null for a built-in check that runs none. */
  run: z.string().nullable(),
  /** Result before the first iteration; null if it is unknown. */
  before: z.enum(['passed', 'failed']).nullable(),
  testsBefore: testCounts.optional(),
  /** Result at the verdict; absent in records of an earlier build. */
  after: z.literal('passed').optional(),
  testsAfter: testCounts.optional(),
});

/** Record for others of what a complete loop rests on (`proof.json`): without output and paths of the machine. */
export const proofRecord = z.strictObject({
  proofVersion: z.literal(PROOF_VERSION),
  loopId: z.string().min(1),
  name: z.string().nullable(),
  /** Task file, relative to the project, and the SHA-256 of its text at the end. */
  task: z.strictObject({ path: z.string().min(1), sha256 }),
  /** SHA-256 of the contract, which shows on the loop's machine whether the contract was changed. */
  contract: sha256,
  /** Checks that the claim passed. */
  checks: z.array(check),
  proof: proof.nullable(),
  verified: z.boolean(),
  /** Git tree of the project's files at the verdict, without the loop's own; null outside git. */
  tree: object.nullable(),
  /** Commits since the start, oldest first. */
  commits: z.array(object),
  iterations: count,
  costUsd: z.number().min(0).nullable(),
  tokens: count.nullable(),
  /** Versions of Claude Code (null for another agent) and of node. */
  client: z.string().nullable(),
  node: z.string(),
  startedAt: instant,
  endedAt: instant,
  /** SHA-256 of everything above, with sorted keys, which reveals an edited record. It is not a signature. */
  digest: sha256,
});

export type ProofRecord = z.infer<typeof proofRecord>;
