import { basename, join } from 'node:path';
import { planKey, tasksByKey } from '../../engine/plan/task-order.ts';
import { billedTokens, totalCost } from '../../engine/policy/budget.ts';
import { timeSpent } from '../../engine/policy/loop-time.ts';
import type { Batch, Run, RunTask } from '../../engine/schema/batch.ts';
import type { Proof } from '../../engine/schema/proof.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { type Entry, readStream } from '../../state/event-stream.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { callHere } from '../../state/process/program.ts';
import { type PlanFileTask, readPlan } from '../../task/plan/read-plan.ts';
import { taskTitle } from '../../task/task-title.ts';
import { commandLine } from '../../text/message.ts';
import type { LoopReport } from './loop-report.ts';

export const OPEN_TASK: RunTask = {
  id: '',
  title: '',
  status: 'not-started',
  done: false,
  needs: [],
  proof: null,
  files: null,
  iterations: null,
  costUsd: null,
  tokens: null,
  durationMs: null,
  commit: null,
  branch: null,
  loop: null,
  why: null,
};

/** Adds the counts and sums of its tasks to a run. */
export function wholeRun(run: Omit<Run, 'done' | 'total' | 'iterations' | 'costUsd' | 'tokens'>): Run {
  const sum = (of: (task: RunTask) => number | null): number | null => {
    const known = run.tasks.flatMap((task) => of(task) ?? []);
    return known.length === 0 ? null : known.reduce((all, each) => all + each, 0);
  };
  return {
    ...run,
    done: run.tasks.filter(({ done }) => done).length,
    total: run.tasks.length,
    iterations: sum(({ iterations }) => iterations),
    costUsd: sum(({ costUsd }) => costUsd),
    tokens: sum(({ tokens }) => tokens),
  };
}

type PlannedTask = NonNullable<Batch['plan']>['tasks'][number];

export function plannedTasks(tasks: readonly PlanFileTask[]): PlannedTask[] {
  return tasks.map(({ id, title, status, dependsOn }) => ({ id, title, status, needs: [...dependsOn] }));
}

/**
 * Returns the tasks of a plan with the work on those that have begun; begun tasks that are no longer in the plan come last.
 * A task that has not begun lists the others for which it waits.
 */
export function tasksOfPlan(planned: readonly PlannedTask[], begun: readonly RunTask[]): RunTask[] {
  const byKey = tasksByKey(begun);
  const tasks = planned.map(({ id, title, status: own, needs }): RunTask => {
    const known = byKey.get(planKey(id));
    const done = own === 'done' || known?.done === true;
    const shown = { id, title, needs, done };
    // A killed process has not recorded what it has ticked.
    if (own === 'done' && known?.done !== true)
      return { ...OPEN_TASK, ...known, ...shown, status: 'complete', why: null };
    if (known !== undefined) return { ...known, ...shown };
    return { ...OPEN_TASK, ...shown, status: own === 'open' ? 'not-started' : own };
  });
  const keys = new Set(planned.map(({ id }) => planKey(id)));
  return waitsFor([...tasks, ...begun.filter(({ id }) => !keys.has(planKey(id)))]);
}

function waitsFor(tasks: readonly RunTask[]): RunTask[] {
  const byKey = tasksByKey(tasks);
  return tasks.map((task) => {
    if (task.status !== 'not-started') return task;
    const missing = task.needs.filter((id) => byKey.get(planKey(id))?.done !== true);
    return missing.length === 0 ? task : { ...task, why: `waits for ${missing.join(', ')}` };
  });
}

/** Describes the live or last loop of these files as a run if it works on the tasks of a plan in turn; null for other loops. */
export function planRunOf({ files, found, live, lastState }: LoopReport, at: string): Run | null {
  const state = found.kind === 'loop' ? found.state : lastState;
  return state && runOfLoop(files, state, live === null ? null : live.status, at);
}

/** Like `planRunOf`; `live` is the status of a loop that has not ended. */
export function runOfLoop(files: LoopFiles, state: LoopState, live: string | null, at: string): Run | null {
  if (state.plan === undefined) return null;
  const { loopId, taskPath, startedAt, usage, iteration, name } = state;
  const ended = state.status === 'ended' ? state.ended : null;
  const text = readRegularFile(join(files.projectDir, taskPath)) ?? '';
  const endedAt = ended?.at ?? (live === null ? state.lastRunAt : null);
  const status = ended?.as ?? live ?? 'interrupted';
  const paused = state.status === 'paused' ? state.paused.message : '';
  const run = wholeRun({
    id: loopId,
    title: taskTitle(text) || basename(taskPath),
    plan: taskPath,
    atOnce: 1,
    status,
    live: live !== null,
    startedAt,
    endedAt,
    durationMs: Math.round(timeSpent(state, endedAt ?? at)),
    why: ended === null ? paused : (ended.text ?? ended.message),
    next: ended?.next === undefined ? '' : commandLine(ended.next, { ...state, ...callHere() }),
    tasks: tasksOfPlan(plannedTasks(readPlan(text).tasks), begunTasks(workOf(files, state), status, { name, loopId })),
  });
  return { ...run, iterations: iteration, costUsd: totalCost(usage), tokens: billedTokens(usage) || null };
}

/** Reads from the loop's events what it did on each task, in the order in which it began them. */
function workOf(files: LoopFiles, { loopId }: LoopState): RunTask[] {
  const works = new Map<string, RunTask>();
  let current: RunTask | null = null;
  const begin = (id: string, title: string): RunTask => {
    const known = works.get(planKey(id)) ?? { ...OPEN_TASK, id, title, iterations: 0 };
    works.set(planKey(id), known);
    return known;
  };
  const change = (more: Partial<RunTask>): void => {
    if (current === null) return;
    current = { ...current, ...more };
    works.set(planKey(current.id), current);
  };
  readStream(files, loopId, 0, (event) => {
    const { type, task, title } = event;
    if (type === 'plan.task-began') current = begin(String(task), String(title));
    else if (type === 'iteration.ended') change(withIteration(current, event));
    else if (type === 'plan.task-done') change(doneBy(event));
    else if (type === 'plan.task-blocked') change({ status: 'blocked', why: reasonIn(event) });
    else if (type === 'plan.task-failed') change({ why: reasonIn(event) });
  });
  return [...works.values()];
}

function withIteration(work: RunTask | null, { durationMs, kind, agent }: Entry): Partial<RunTask> {
  if (work === null) return {};
  const { costUsd, usage } = (agent ?? {}) as {
    costUsd?: number | null;
    usage?: Parameters<typeof billedTokens>[0] | null;
  };
  const { iterations = 0 } = work;
  const plus = (before: number | null, more: number | null | undefined): number | null =>
    more == null ? before : (before ?? 0) + more;
  return {
    iterations: (iterations ?? 0) + (kind === 'idle' ? 0 : 1),
    durationMs: plus(work.durationMs, Number(durationMs)),
    costUsd: plus(work.costUsd, costUsd),
    tokens: plus(work.tokens, usage == null ? null : billedTokens(usage)),
  };
}

function doneBy({ commit = null, proof = null, files = null }: Entry): Partial<RunTask> {
  return {
    status: 'complete',
    done: true,
    why: null,
    commit: commit as string | null,
    proof: proof as Proof | null,
    files: files as number | null,
  };
}

/** Returns the first reason named by an event of a plan's task; null if there is none. */
export function reasonIn({ reasons }: Entry): string | null {
  return Array.isArray(reasons) && typeof reasons[0] === 'string' ? reasons[0] : null;
}

/** Returns the tasks that a loop has begun: the last one shares the loop's status until it is done or blocked. */
function begunTasks(works: readonly RunTask[], status: string, loop: RunTask['loop']): RunTask[] {
  return works.map((work, index): RunTask => {
    const isLast = index === works.length - 1;
    const open = isLast ? status : 'interrupted';
    return { ...work, status: work.status === 'not-started' ? open : work.status, loop };
  });
}
