import { existsSync, mkdirSync, statSync, utimesSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import shapes from '../../../.build/batch-shapes.json' with { type: 'json' };
import { billedTokens } from '../../engine/policy/budget.ts';
import type { Batch, BatchTask, Run, RunTask } from '../../engine/schema/batch.ts';
import { checkShape } from '../../state/check-shape.ts';
import { lastWhere } from '../../state/event-stream.ts';
import { lossText, lostBy } from '../../state/evidence/evidence.ts';
import { dropProjectRecord, readProjectRecord, storeProjectRecord } from '../../state/evidence/project-records.ts';
import { readRecord, readRegularFile, writeAtomically } from '../../state/files/regular-file.ts';
import { withLock } from '../../state/lock/lock.ts';
import { hideRuntimeDir, LOOP_NAME, type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { identityOf, isAlive } from '../../state/process/identity.ts';
import { show, stepsOf } from '../../state/process/program.ts';
import { archivedNames } from '../../state/with-state.ts';
import { readPlan } from '../../task/plan/read-plan.ts';
import { counted } from '../../text/figures.ts';
import { RalphError } from '../../text/message.ts';
import { describeLoop, describeProject, type ProjectLoop } from '../status/loop-report.ts';
import { OPEN_TASK, plannedTasks, planRunOf, reasonIn, tasksOfPlan, wholeRun } from '../status/plan-run.ts';
import { keptFiles } from '../worktree/remove-worktree.ts';
import { worktreeLoop, worktreePlaces } from '../worktree/worktree-place.ts';
import { INTEGRATE_TEXTS, PARALLEL_TEXTS } from './messages.ts';

export const NEW_TASK = { title: '', loopId: null, words: [], step: 'waiting', end: null } as const;

/** Fields of an end that are unknown at first. */
export const NEW_END = { integrated: null, problem: null, durationMs: null, proved: null, commit: null } as const;

export type PlanBatch = Batch & { readonly plan: NonNullable<Batch['plan']> };
export type Integrate = Batch['integrate'];

/**
 * Reads the run that has not ended; null if there is none. Returns an error, `evidence-lost` or `state-corrupt`, if the record
 * cannot be trusted: a new run may replace such a record.
 */
export function findBatch(projectDir: string, env: NodeJS.ProcessEnv): Batch | RalphError | null {
  const files = loopFiles(projectDir, null, env);
  try {
    const record = readProjectRecord(files, files.batch);
    if (record === null) return null;
    return isBatch(record) ? record : new RalphError('state-corrupt', PARALLEL_TEXTS.noRecord(files.batch));
  } catch (error) {
    const lost = lostBy(error);
    if (lost === null) throw error;
    return new RalphError('evidence-lost', PARALLEL_TEXTS.lost(lossText(lost)), lost);
  }
}

function isBatch(record: unknown): record is Batch {
  return checkShape(record, shapes.batch) === null && (record as Batch).tasks.every(({ name }) => LOOP_NAME.test(name));
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
  withLock(`${path}.lock`, () => {
    const found = findBatch(projectDir, env);
    const known = found instanceof RalphError ? null : found;
    if (known !== null) refuseRunning(known);
    const isSame = found instanceof RalphError ? former instanceof RalphError : isDeepStrictEqual(found, former);
    if (!isSame) throw new RalphError('refused', PARALLEL_TEXTS.overtaken);
    if (known !== null && known.startedAt !== record.startedAt) archiveBatch(projectDir, env, known);
    writeBatch(projectDir, env, { ...record, ended: null });
  });
}

/** Moves the record of a run that is over or replaced by another to the archive. Idempotent after a crash. */
export function archiveBatch(projectDir: string, env: NodeJS.ProcessEnv, record: Batch): void {
  const files = loopFiles(projectDir, null, env);
  hideRuntimeDir(files);
  mkdirSync(files.runsDir, { recursive: true });
  // It can no longer be resumed.
  const ended = { ...(record.ended ?? interruptedAt(lastDriven(files))), next: null };
  const path = join(files.runsDir, `${ended.at.replaceAll(':', '-')}-${ended.status}.json`);
  writeAtomically(path, `${JSON.stringify({ ...record, ended }, null, 2)}\n`);
  dropProjectRecord(files, files.batch);
}

/** Returns the archived runs, newest last, with the names of their files; null for an unreadable one. */
export function archivedBatches(projectDir: string, env: NodeJS.ProcessEnv): { file: string; batch: Batch | null }[] {
  const { runsDir } = loopFiles(projectDir, null, env);
  return archivedNames(runsDir).map((file) => {
    const record = readRecord(join(runsDir, file));
    return { file, batch: isBatch(record) ? record : null };
  });
}

function lastDriven({ batch: path }: Pick<LoopFiles, 'batch'>): string {
  return (statSync(path, { throwIfNoEntry: false })?.mtime ?? new Date()).toISOString();
}

/**
 * Returns whether a user who names no loop means a run that no process drives: these live loops belong to it, and no loop of
 * the project has ended since, at `endedAt`. Throws the problem of a record that cannot be trusted, if all live loops may be
 * its own.
 */
export function isRunLeft(
  projectDir: string,
  env: NodeJS.ProcessEnv,
  live: readonly (string | null)[],
  endedAt: string | null,
): boolean {
  const run = findBatch(projectDir, env);
  if (run instanceof RalphError) {
    const there = worktreePlaces(projectDir).map(({ name }) => name);
    if (live.length > 0 ? live.every((name) => there.includes(name ?? '')) : endedAt === null) throw run;
    return false;
  }
  if (run === null || isAlive(run.runner)) return false;
  if (endedAt !== null && endedAt > lastDriven(loopFiles(projectDir, null, env))) return false;
  return live.every((each) => run.tasks.some(({ name }) => name === each));
}

/** Returns the words of the command that works on a task in its worktree: a new loop, its replacement, or the same one. */
export function wordsFor(
  { words, rest, plan }: Batch,
  projectDir: string,
  task: BatchTask,
  how: 'begin' | 'fresh' | 'resume',
): readonly string[] {
  const which = [
    ...(how === 'resume' ? ['--resume'] : ['--task', join(projectDir, task.taskPath)]),
    ...(plan !== undefined && how !== 'resume' ? ['--plan'] : []),
    ...(how === 'fresh' ? ['--fresh'] : []),
  ];
  const from = plan === undefined || plan.from === null ? [] : ['--from', plan.from];
  const ofPlan = plan === undefined ? [] : ['--max-tasks', String(plan.maxTasks), ...from];
  const own = [...ofPlan, ...words, ...task.words, ...(rest.length === 0 ? [] : ['--', ...rest])];
  return ['run', ...which, '--loop', task.name, '--worktree', '--json', ...own];
}

/** Exit code of a complete loop whose work was not integrated and is left to the user. */
export const NOT_INTEGRATED = 3;

type CompleteTask = BatchTask & { readonly end: NonNullable<BatchTask['end']> };

export function isToIntegrate({ integrate }: Batch, task: BatchTask): task is CompleteTask {
  return integrate !== 'none' && task.end?.status === 'complete' && task.end.integrated === null;
}

/** Returns a run that nothing drives, with a reason for each task whose work it could not integrate. */
export function withLeft(batch: Batch): Batch {
  const tasks = batch.tasks.map((task) =>
    isToIntegrate(batch, task) && task.end.problem === null
      ? { ...task, end: { ...task.end, code: NOT_INTEGRATED, problem: INTEGRATE_TEXTS.stopped(task.name) } }
      : task,
  );
  return { ...batch, tasks };
}

/** Returns the exit code of several loops: the first of 130, 1, 2, 3 that any of them left; null for none of these. */
export function firstCode(codes: readonly number[]): number | null {
  return [130, 1, 2, 3].find((code) => codes.includes(code)) ?? null;
}

function interruptedAt(at: string): NonNullable<Batch['ended']> {
  return { at, status: 'interrupted', text: PARALLEL_TEXTS.interrupted, next: PARALLEL_TEXTS.resume() };
}

export interface ProjectRun {
  readonly run: Run;
  /** Names of the loops that work or have worked on its tasks, each in a worktree; empty for a single loop of the project. */
  readonly members: ReadonlySet<string>;
  /** Loop that is the whole run; null for one with members. */
  readonly loop: ProjectLoop | null;
}

/** Returns the files of a task's loop: in its worktree, or kept after its removal; null if neither has the loop. */
export function memberFiles(projectDir: string, { loop }: RunTask, env: NodeJS.ProcessEnv): LoopFiles | null {
  if (loop?.name == null) return null;
  const own = worktreeLoop(projectDir, loop.name, env);
  const all = [own, ...keptFiles(projectDir, loop.name, env)];
  return all.find((files) => holdsLoop(files, loop.loopId, env)) ?? null;
}

/** Returns whether a loop, or any if the id is null, is the live or last one of these files. */
export function holdsLoop(files: LoopFiles, loopId: string | null, env: NodeJS.ProcessEnv): boolean {
  const { live, lastLoop } = describeLoop(files, env);
  const ids = [live?.loopId, lastLoop?.loopId].filter((id) => id != null);
  return loopId === null ? ids.length > 0 : ids.includes(loopId);
}

/** Returns the runs of a project, newest first: all that have not ended, and the last one of each plan or list of tasks. */
export function projectRuns(where: Where, loops = describeProject(where.projectDir, where.env)): ProjectRun[] {
  const { projectDir, env, at } = where;
  const found = findBatch(projectDir, env);
  const archived = archivedBatches(projectDir, env).flatMap(({ batch }) => batch ?? []);
  const known = found === null || found instanceof RalphError ? archived : [...archived, found];
  const batches = [...new Map(known.map((batch) => [runId(batch), batch])).values()];
  const beside = batches.map((batch): ProjectRun => {
    return { run: runOfBatch(batch, where), members: new Set(batch.tasks.map(({ name }) => name)), loop: null };
  });
  const members = new Set(beside.flatMap(({ members }) => [...members]));
  const single = loops.flatMap((loop): ProjectRun[] => {
    const run = loop.worktree !== null && members.has(loop.files.name ?? '') ? null : planRunOf(loop, at);
    return run === null ? [] : [{ run, members: new Set(), loop }];
  });
  const lost = found instanceof RalphError ? [lostRun(found, where)] : [];
  const newest = [...beside, ...single].sort((a, b) => b.run.startedAt.localeCompare(a.run.startedAt));
  const isLast = (one: ProjectRun, index: number): boolean =>
    one.run.live || newest.findIndex(({ run }) => subjectOf(run) === subjectOf(one.run)) === index;
  return [...lost, ...newest.filter(isLast)];
}

/** Returns what a run works on; in lists, a later run on the same replaces it. */
function subjectOf({ plan, tasks }: Run): string {
  return plan ?? tasks.map(({ id }) => id).join('\n');
}

/** Stands for a run whose record is lost, which no list may leave out, with what its worktrees show of its tasks. */
function lostRun({ advised }: RalphError, where: Where): ProjectRun {
  const { projectDir, at } = where;
  const there = new Set(worktreePlaces(projectDir).map(({ name }) => name));
  const begun = { ...NEW_TASK, taskPath: '', step: 'started' } as const;
  const tasks = [...there].map((name) => memberOf({ ...begun, name, words: [] }, { ...where, there }));
  const none = { plan: null, atOnce: 1, live: false, durationMs: null, next: '', tasks };
  const what = { id: 'lost', title: 'A parallel run', status: 'unreadable', why: show(advised) };
  return { run: wholeRun({ ...none, ...what, startedAt: at, endedAt: at }), members: new Set(), loop: null };
}

export interface Where {
  readonly projectDir: string;
  readonly env: NodeJS.ProcessEnv;
  readonly at: string;
}

/** Describes a run from its record and, for the tasks that have not ended, from their loops. */
export function runOfBatch(batch: Batch, { projectDir, env, at }: Where): Run {
  const { startedAt, stoppedMs, plan, atOnce, runner } = batch;
  const isDriven = batch.ended === null && isAlive(runner);
  const ended = batch.ended ?? (isDriven ? null : interruptedAt(lastDriven(loopFiles(projectDir, null, env))));
  const there = new Set(worktreePlaces(projectDir).map(({ name }) => name));
  const known = ended === null ? batch : withLeft(batch);
  const members = known.tasks.map((task) => memberOf(task, { projectDir, env, at, there }));
  const tasks = plan === undefined ? members : tasksOfPlan(plannedNow({ ...batch, plan }, projectDir), members);
  return wholeRun({
    id: runId(batch),
    title: titleOf(batch),
    plan: plan?.path ?? null,
    atOnce,
    status: ended?.status ?? 'running',
    live: ended === null,
    startedAt,
    endedAt: ended?.at ?? null,
    durationMs: Math.max(0, Math.round(Date.parse(ended?.at ?? at) - Date.parse(startedAt) - stoppedMs)),
    why: ended?.text ?? '',
    next: ended?.next == null ? '' : show({ text: '', advice: [ended.next] }),
    ...(ended?.next && { steps: stepsOf({ text: '', advice: [ended.next] }, { name: null, mode: 'runner' }) }),
    tasks,
  });
}

/** Returns the tasks as the plan has them now, for a run that continues; as recorded, for one that is over. */
function plannedNow({ plan, ended }: PlanBatch, projectDir: string): PlanBatch['plan']['tasks'] {
  const text = ended !== null && ended.next === null ? null : readRegularFile(join(projectDir, plan.path));
  return text === null ? plan.tasks : plannedTasks(readPlan(text).tasks);
}

/** Identifies a run: a project has one at a time. */
function runId({ startedAt }: Batch): string {
  return `run-${startedAt}`;
}

function titleOf({ title, plan, tasks }: Batch): string {
  if (title !== '') return title;
  if (plan !== undefined) return basename(plan.path);
  const [first = '', second, ...more] = tasks.map(({ name }) => name);
  if (second === undefined) return first;
  return `${first}, ${second}${more.length === 0 ? '' : ` and ${counted(more.length, 'other task')}`}`;
}

/** Describes a task that has begun, or waits for its start. */
function memberOf(
  { name, taskPath, planTask, title, step, end, loopId }: BatchTask,
  { projectDir, env, there }: Where & { readonly there: ReadonlySet<string> },
): RunTask {
  const task: RunTask = {
    ...OPEN_TASK,
    id: planTask ?? name,
    title: title === '' ? taskPath : title,
    branch: there.has(name) ? `ralph/${name}` : null,
  };
  if (step === 'waiting') return task;
  const files = worktreeLoop(projectDir, name, env);
  const { live, lost, lastLoop } = describeLoop(files, env);
  const loop = { name, loopId: live?.loopId ?? loopId ?? lastLoop?.loopId ?? null };
  if (step === 'started' && live !== null) {
    const { status, iteration, usage, paused } = live;
    const isLeft = status === 'interrupted' || paused?.reason === 'interrupted';
    return {
      ...task,
      status: isLeft ? 'interrupted' : status,
      iterations: iteration,
      costUsd: usage?.costUsd ?? null,
      tokens: (usage && billedTokens(usage)) || null,
      loop,
      why: isLeft ? end?.message || PARALLEL_TEXTS.loopLeft : (paused?.message ?? null),
    };
  }
  if (end === null) return { ...task, status: lost ? 'interrupted' : (lastLoop?.status ?? 'running'), loop };
  const { status, iterations, costUsd, tokens, durationMs, proved, commit, code, problem, message } = end;
  const blocked = status === 'blocked' && loop.loopId ? lastWhere(files, loop.loopId, ['plan.task-blocked']) : null;
  return {
    ...task,
    status,
    done: status === 'complete' && code === 0,
    proof: proved?.proof ?? null,
    files: proved?.files ?? null,
    iterations,
    costUsd,
    tokens: tokens === 0 ? null : tokens,
    durationMs,
    commit,
    loop,
    why: code === 0 ? null : (problem ?? (blocked && reasonIn(blocked)) ?? message),
  };
}
