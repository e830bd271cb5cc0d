import { basename } from 'node:path';
import { billedTokens } from '../../engine/policy/budget.ts';
import type { Batch, BatchTask } from '../../engine/schema/batch.ts';
import type { Run, RunTask } from '../../engine/schema/run.ts';
import { lastWhere } from '../../state/event-stream.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { isAlive } from '../../state/process/identity.ts';
import { show, stepsOf } from '../../state/process/program.ts';
import { counted } from '../../text/figures.ts';
import { RalphError } from '../../text/message.ts';
import { describeLoop } from '../status/loop-report.ts';
import { OPEN_TASK, planRunOf, reasonIn, tasksOfPlan, wholeRun } from '../status/plan-run.ts';
import { describeProject, type ProjectLoop } from '../status/project-loops.ts';
import { keptFiles } from '../worktree/remove-worktree.ts';
import { worktreeLoop, worktreePlaces } from '../worktree/worktree-place.ts';
import { archivedBatches, findBatch, interruptedAt, lastDriven, withLeft } from './batch.ts';
import { PARALLEL_TEXTS } from './messages.ts';

export interface ProjectRun {
  readonly run: Run;
  /** Names of the loops that work or have worked on its tasks, each in a worktree; empty for a single loop of the project. */
  readonly members: ReadonlySet<string>;
  /** Loop that is the whole run; null for one with members. */
  readonly loop: ProjectLoop | null;
}

/** Returns the files of the loop of a task: in its worktree, or what was kept of it; null if neither has the loop. */
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

/** Returns the runs of a project, newest first: those that have not ended, and of each plan or list of tasks the last one. */
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
  const lost = found instanceof RalphError ? [lostRun(found, at)] : [];
  const newest = [...beside, ...single].sort((a, b) => b.run.startedAt.localeCompare(a.run.startedAt));
  const isLast = (one: ProjectRun, index: number): boolean =>
    one.run.live || newest.findIndex(({ run }) => subjectOf(run) === subjectOf(one.run)) === index;
  return [...lost, ...newest.filter(isLast)];
}

/** Returns what a run works on; a later run on the same takes its place in lists. */
function subjectOf({ plan, tasks }: Run): string {
  return plan ?? tasks.map(({ id }) => id).join('\n');
}

/** Stands for a run whose record is lost, which no list may leave out. */
function lostRun({ message }: RalphError, at: string): ProjectRun {
  const run = wholeRun({
    id: 'lost',
    title: PARALLEL_TEXTS.lostTitle,
    plan: null,
    atOnce: 1,
    status: 'unreadable',
    live: false,
    startedAt: at,
    endedAt: at,
    durationMs: null,
    why: message,
    next: '',
    tasks: [],
  });
  return { run, members: new Set(), loop: null };
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
  const tasks = plan === undefined ? members : tasksOfPlan(plan.tasks, members);
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
  const { live, lastLoop } = describeLoop(files, env);
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
  if (end === null) return { ...task, status: lastLoop?.status ?? 'running', loop };
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
