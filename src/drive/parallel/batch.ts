import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { baseline, provedWork } from '../../engine/schema/proof.ts';
import { readRegularFile, removeIfThere, writeRecord } from '../../state/files/regular-file.ts';
import { withLock } from '../../state/lock/lock.ts';
import { LOOP_NAME, loopFiles } from '../../state/loop-files.ts';
import { identityOf, isAlive } from '../../state/process/identity.ts';
import { LOCK_WAIT } from '../../state/with-state.ts';
import { RalphError } from '../../text/message.ts';
import { jsonOrNull } from '../../text/or-else.ts';
import { PARALLEL_TEXTS } from './messages.ts';

/** How the work of a loop got, or gets, to the user's branch. */
const delivery = z.strictObject({
  loopId: z.string().min(1),
  /** Set-up of its worktree: command, and globs of copied files. */
  setUp: z.string().nullable(),
  copies: z.array(z.string()),
  how: z.enum(['merge', 'rebase']),
  /** Last commit of the loop's branch. */
  tip: z.string().min(1),
  /** Commit of the user's branch before, and after. */
  from: z.string().min(1),
  commit: z.string().min(1),
});

export type Delivery = z.infer<typeof delivery>;

const task = z.strictObject({
  name: z.string().regex(LOOP_NAME),
  /** Path relative to the project. */
  taskPath: z.string().min(1),
  /** Id of the task that the loop works on, if `taskPath` is a plan. */
  planTask: z.string().min(1).optional(),
  /** Options of its run that the user was asked about. */
  words: z.array(z.string()).default([]),
  /** `started`: its worktree may exist. `ended`: its loop has ended; `end` records how. */
  step: z.enum(['waiting', 'started', 'ended']),
  end: z
    .strictObject({
      status: z.string(),
      code: z.int(),
      iterations: z.int().nullable(),
      costUsd: z.number().nullable(),
      tokens: z.number(),
      message: z.string(),
      integrated: z.string().nullable(),
      /** Reason why a complete loop was not integrated. */
      problem: z.string().nullable().default(null),
      durationMs: z.number().nullable().default(null),
      /** null for work that is not complete, or whose process was killed. */
      proved: provedWork.nullable().default(null),
      /** Present once the user's branch is about to move. */
      delivery: delivery.optional(),
      /** Commit of an integrated task. */
      commit: z.string().nullable().default(null),
    })
    .nullable(),
});

/** Fields of an end that are not known at first. */
export const NEW_END = { integrated: null, problem: null, durationMs: null, proved: null, commit: null } as const;

const batch = z.strictObject({
  startedAt: z.string(),
  runner: z.object({ pid: z.int(), startedAt: z.string().nullable() }),
  atOnce: z.int().min(1),
  integrate: z.enum(['none', 'merge', 'rebase', 'pr']),
  /** Limits for all loops together; null is no limit. */
  limits: z.strictObject({
    maxCostUsd: z.number().nullable(),
    maxTokens: z.number().nullable(),
    maxTimeMs: z.number().nullable(),
  }),
  /** New loops replace the remains of earlier ones in worktrees of the same names. */
  fresh: z.boolean(),
  /** Options of each run, and the client's own after `--`. */
  words: z.array(z.string()),
  rest: z.array(z.string()),
  tasks: z.array(task),
  /** Present for the tasks of a plan; `tasks` then holds those that have begun. */
  plan: z
    .strictObject({
      path: z.string().min(1),
      branch: z.string().min(1),
      from: z.string().nullable(),
      maxTasks: z.int().min(1),
      /** Ids of the tasks done in this session, and of those that were blocked at its start. */
      done: z.array(z.string()),
      blocked: z.array(z.string()),
      /** Results of the last verification: those before the start until a task is done; absent if they are unknown. */
      baseline: baseline.optional(),
    })
    .optional(),
});

/** Tasks that run side by side. Stored outside the project, so that a killed run can be resumed. */
export type Batch = z.infer<typeof batch>;
export type BatchTask = z.infer<typeof task>;
export type PlanBatch = Batch & { readonly plan: NonNullable<Batch['plan']> };
export type Integrate = Batch['integrate'];

const MAX_BYTES = 1024 * 1024;

export function hasBatch(projectDir: string, env: NodeJS.ProcessEnv): boolean {
  return existsSync(pathOf(projectDir, env));
}

/** Reads the run that has not ended; null if there is none. Throws `state-corrupt` for an unreadable record. */
export function readBatch(projectDir: string, env: NodeJS.ProcessEnv): Batch | null {
  const path = pathOf(projectDir, env);
  if (!existsSync(path)) return null;
  const parsed = batch.safeParse(jsonOrNull(readRegularFile(path, MAX_BYTES) ?? ''));
  if (!parsed.success) throw new RalphError('state-corrupt', `${path} is not a record of a parallel run. Remove it.`);
  return parsed.data;
}

/** Throws `refused` while another process drives the run. */
export function refuseRunning({ runner }: Batch): void {
  if (runner.pid !== process.pid && isAlive(runner))
    throw new RalphError('refused', PARALLEL_TEXTS.running(runner.pid));
}

export function writeBatch(projectDir: string, env: NodeJS.ProcessEnv, record: Omit<Batch, 'runner'>): void {
  writeRecord(pathOf(projectDir, env), { ...record, runner: identityOf(process.pid) } as Batch);
}

/** Records this process as the owner of a run. Throws `refused` if another run has begun since `former` was read. */
export function claimBatch(projectDir: string, env: NodeJS.ProcessEnv, record: Batch, former: Batch | null): void {
  const path = pathOf(projectDir, env);
  mkdirSync(loopFiles(projectDir, null, env).outsideDir, { recursive: true, mode: 0o700 });
  withLock(`${path}.lock`, LOCK_WAIT, () => {
    const found = readBatch(projectDir, env);
    if (found !== null) refuseRunning(found);
    if (!isDeepStrictEqual(found, former)) throw new RalphError('refused', PARALLEL_TEXTS.overtaken);
    writeBatch(projectDir, env, record);
  });
}

export function dropBatch(projectDir: string, env: NodeJS.ProcessEnv): void {
  removeIfThere(pathOf(projectDir, env));
}

function pathOf(projectDir: string, env: NodeJS.ProcessEnv): string {
  return join(loopFiles(projectDir, null, env).outsideDir, 'parallel.json');
}
