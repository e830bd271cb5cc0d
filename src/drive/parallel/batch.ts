import { existsSync, mkdirSync, statSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';
import { baseline, provedWork } from '../../engine/schema/proof.ts';
import { lossText, lostBy } from '../../state/evidence/lost.ts';
import { dropProjectRecord, readProjectRecord, storeProjectRecord } from '../../state/evidence/project-records.ts';
import { readRecord, writeAtomically } from '../../state/files/regular-file.ts';
import { withLock } from '../../state/lock/lock.ts';
import { LOOP_NAME, type LoopFiles, loopFiles, makeRuntimeDir } from '../../state/loop-files.ts';
import { identityOf, isAlive } from '../../state/process/identity.ts';
import { archivedNames, LOCK_WAIT } from '../../state/with-state.ts';
import { RalphError } from '../../text/message.ts';
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
  title: z.string().default(''),
  /** The issue that it is about, and whether it was told of the end. */
  issue: z.strictObject({ url: z.string(), told: z.boolean() }).optional(),
  /** null until its loop has begun. */
  loopId: z.string().nullable().default(null),
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

/** Fields of a task that has not begun. */
export const NEW_TASK = { title: '', loopId: null, words: [], step: 'waiting', end: null } as const;

/** Fields of an end that are not known at first. */
export const NEW_END = { integrated: null, problem: null, durationMs: null, proved: null, commit: null } as const;

const batch = z.strictObject({
  startedAt: z.string(),
  /** Milliseconds since then in which the run was not driven, or its machine slept. */
  stoppedMs: z.number().min(0).default(0),
  title: z.string().default(''),
  /** How it ended; null while it is driven, and after a kill. */
  ended: z
    .strictObject({
      at: z.string(),
      status: z.string(),
      text: z.string(),
      /** Command that continues it; null if there is none. */
      next: z
        .strictObject({
          verb: z.string(),
          command: z.string(),
          options: z.record(z.string(), z.union([z.string(), z.boolean()])).optional(),
        })
        .nullable(),
    })
    .nullable()
    .default(null),
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
      /** All tasks of the plan, as last read. */
      tasks: z
        .array(z.strictObject({ id: z.string(), title: z.string(), status: z.string(), needs: z.array(z.string()) }))
        .default([]),
      /** Ids of the tasks done in this session, and of those that were blocked at its start. */
      done: z.array(z.string()),
      blocked: z.array(z.string()),
      /** Results of the last verification: those before the start until a task is done; absent if they are unknown. */
      baseline: baseline.optional(),
    })
    .optional(),
});

/**
 * Tasks that run side by side. Stored outside the project, so that a killed run can be resumed; one that is over is moved to the
 * archive of the project.
 */
export type Batch = z.infer<typeof batch>;
export type BatchTask = z.infer<typeof task>;
export type PlanBatch = Batch & { readonly plan: NonNullable<Batch['plan']> };
export type Integrate = Batch['integrate'];

/** Returns whether a run has not ended, or its record is lost. */
export function hasBatch(projectDir: string, env: NodeJS.ProcessEnv): boolean {
  return findBatch(projectDir, env) !== null;
}

/** Reads the run that has not ended; null if there is none. Throws `evidence-lost`, and `state-corrupt` for another record. */
export function readBatch(projectDir: string, env: NodeJS.ProcessEnv): Batch | null {
  const found = findBatch(projectDir, env);
  if (found instanceof RalphError) throw found;
  return found;
}

/** Reads the record for a run that replaces it; the error says why the record cannot be trusted. */
export function findBatch(projectDir: string, env: NodeJS.ProcessEnv): Batch | RalphError | null {
  const files = loopFiles(projectDir, null, env);
  try {
    const record = readProjectRecord(files, files.batch);
    if (record === null) return null;
    const parsed = batch.safeParse(record);
    return parsed.success ? parsed.data : new RalphError('state-corrupt', PARALLEL_TEXTS.noRecord(files.batch));
  } catch (error) {
    const lost = lostBy(error);
    if (lost === null) throw error;
    return new RalphError('evidence-lost', PARALLEL_TEXTS.lost(lossText(lost)), lost);
  }
}

/** Throws `refused` while another process drives the run. */
export function refuseRunning({ runner }: Batch): void {
  if (runner.pid !== process.pid && isAlive(runner))
    throw new RalphError('refused', PARALLEL_TEXTS.running(runner.pid));
}

export function writeBatch(projectDir: string, env: NodeJS.ProcessEnv, record: Omit<Batch, 'runner'>): void {
  const files = loopFiles(projectDir, null, env);
  const own: Batch = { ...record, runner: identityOf(process.pid) };
  storeProjectRecord(files, files.batch, own);
}

/** Marks the run as driven until now, for a resume after a kill. */
export function touchBatch(projectDir: string, env: NodeJS.ProcessEnv): void {
  const [{ batch: path }, now] = [loopFiles(projectDir, null, env), new Date()];
  // If the user removed it, the next change writes it again.
  if (existsSync(path)) utimesSync(path, now, now);
}

/** Returns the run as it is resumed: the time since it was last driven does not count. */
export function notDrivenSince(projectDir: string, env: NodeJS.ProcessEnv, former: Batch): Batch {
  const sinceMs = Date.now() - statSync(loopFiles(projectDir, null, env).batch).mtimeMs;
  return { ...former, stoppedMs: former.stoppedMs + Math.max(0, sinceMs) };
}

/** Records this process as the owner of a run. Throws `refused` if another run has begun since `former` was read. */
export function claimBatch(
  projectDir: string,
  env: NodeJS.ProcessEnv,
  record: Batch,
  former: ReturnType<typeof findBatch>,
): void {
  const { batch: path, outsideDir } = loopFiles(projectDir, null, env);
  mkdirSync(outsideDir, { recursive: true, mode: 0o700 });
  withLock(`${path}.lock`, LOCK_WAIT, () => {
    const found = findBatch(projectDir, env);
    if (found !== null && !(found instanceof RalphError)) refuseRunning(found);
    const isSame = found instanceof RalphError ? former instanceof RalphError : isDeepStrictEqual(found, former);
    if (!isSame) throw new RalphError('refused', PARALLEL_TEXTS.overtaken);
    const isOther = found !== null && !(found instanceof RalphError) && found.startedAt !== record.startedAt;
    if (isOther) archiveBatch(projectDir, env, found);
    writeBatch(projectDir, env, { ...record, ended: null });
  });
}

/** Moves the record of a run that is over, or that another one replaces, to the archive. Idempotent after a crash. */
export function archiveBatch(projectDir: string, env: NodeJS.ProcessEnv, record: Batch): void {
  const files = loopFiles(projectDir, null, env);
  makeRuntimeDir(files);
  mkdirSync(files.runsDir, { recursive: true });
  const { at, status } = record.ended ?? { at: lastDriven(files), status: 'interrupted' };
  const path = join(files.runsDir, `${at.replaceAll(':', '-')}-${status}.json`);
  writeAtomically(path, `${JSON.stringify({ ...record, ended: record.ended ?? interruptedAt(at) }, null, 2)}\n`);
  dropProjectRecord(files, files.batch);
}

/** Returns the archived runs, newest last, with the names of their files; null for an unreadable one. */
export function archivedBatches(projectDir: string, env: NodeJS.ProcessEnv): { file: string; batch: Batch | null }[] {
  const { runsDir } = loopFiles(projectDir, null, env);
  return archivedNames(runsDir).map((file) => {
    const parsed = batch.safeParse(readRecord(join(runsDir, file)));
    return { file, batch: parsed.success ? parsed.data : null };
  });
}

/** Returns the time at which a run was last driven. */
export function lastDriven({ batch: path }: Pick<LoopFiles, 'batch'>): string {
  return (statSync(path, { throwIfNoEntry: false })?.mtime ?? new Date()).toISOString();
}

export function interruptedAt(at: string): NonNullable<Batch['ended']> {
  return { at, status: 'interrupted', text: PARALLEL_TEXTS.interrupted, next: PARALLEL_TEXTS.resume };
}
