import { basename } from 'node:path';
import { counted } from '../../engine/messages.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import { billedTokens } from '../../engine/policy/budget.ts';
import type { Batch, BatchTask } from '../../engine/schema/batch.ts';
import type { Run, RunTask } from '../../engine/schema/run.ts';
import { lastWhere } from '../../state/event-stream.ts';
import { type LoopFiles, loopFiles } from '../../state/loop-files.ts';
import { isAlive } from '../../state/process/identity.ts';
import { show, stepsOf } from '../../state/process/program.ts';
import { describeLoop } from '../status/loop-report.ts';
import { OPEN_TASK, reasonIn, waitsFor, wholeRun } from '../status/plan-run.ts';
import { worktreePlace, worktreePlaces } from '../worktree/worktree-place.ts';
import { interruptedAt, lastDriven } from './batch.ts';
import { PARALLEL_TEXTS } from './messages.ts';

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
  const tasks = tasksOf(batch, (task) => memberOf(task, { projectDir, env, at, there }));
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
export function runId({ startedAt }: Batch): string {
  return `run-${startedAt}`;
}

function titleOf({ title, plan, tasks }: Batch): string {
  if (title !== '') return title;
  if (plan !== undefined) return basename(plan.path);
  const [first = '', second, ...more] = tasks.map(({ name }) => name);
  if (second === undefined) return first;
  return `${first}, ${second}${more.length === 0 ? '' : ` and ${counted(more.length, 'other task')}`}`;
}

/** Returns the tasks in the order of the plan, those of an edited plan last. */
function tasksOf({ tasks, plan }: Batch, memberOf: (task: BatchTask) => RunTask): RunTask[] {
  const members = tasks.map(memberOf);
  if (plan === undefined) return members;
  const keys = new Set(plan.tasks.map(({ id }) => planKey(id)));
  const planned = plan.tasks.map((task): RunTask => {
    const member = members.find(({ id }) => planKey(id) === planKey(task.id));
    const isDone = task.status === 'done' || member?.done === true;
    if (member !== undefined) return { ...member, title: task.title, needs: task.needs, done: isDone };
    const status = task.status === 'open' ? 'not-started' : isDone ? 'complete' : task.status;
    return { ...OPEN_TASK, id: task.id, title: task.title, needs: task.needs, status, done: isDone };
  });
  return waitsFor([...planned, ...members.filter(({ id }) => !keys.has(planKey(id)))]);
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
  const place = worktreePlace(projectDir, name);
  const files = loopFiles(place.projectDir, name, env);
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
      why: isLeft ? PARALLEL_TEXTS.loopLeft : (paused?.message ?? null),
    };
  }
  if (end === null) return { ...task, status: lastLoop?.status ?? 'running', loop };
  const { status, iterations, costUsd, tokens, durationMs, proved, commit, code, problem, message } = end;
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
    why: code === 0 ? null : (problem ?? blockedBy(files, loop.loopId, status) ?? message),
  };
}

/** Returns why a task of a plan was blocked, from the events of its loop; null if they do not say. */
function blockedBy(files: LoopFiles, loopId: string | null, status: string): string | null {
  const event = status === 'blocked' && loopId !== null ? lastWhere(files, loopId, ['plan.task-blocked']) : null;
  return event && reasonIn(event);
}
