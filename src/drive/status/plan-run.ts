import { basename, join } from 'node:path';
import { planKey, tasksByKey } from '../../engine/plan/task-order.ts';
import { billedTokens, totalCost } from '../../engine/policy/budget.ts';
import { timeSpent } from '../../engine/policy/loop-time.ts';
import type { Proof } from '../../engine/schema/proof.ts';
import type { Run, RunTask } from '../../engine/schema/run.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { type Entry, readStream } from '../../state/event-stream.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { programName } from '../../state/process/program.ts';
import { type PlanFileTask, readPlan } from '../../task/plan/read-plan.ts';
import { taskTitle } from '../../task/task-title.ts';
import { commandLine } from '../../text/message.ts';
import type { LoopReport } from './loop-report.ts';

/** A task before it has begun. */
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

/** Says of each task that has not begun which of the tasks it waits for. */
export function waitsFor(tasks: readonly RunTask[]): RunTask[] {
  const byKey = tasksByKey(tasks);
  return tasks.map((task) => {
    if (task.status !== 'not-started') return task;
    const missing = task.needs.filter((id) => byKey.get(planKey(id))?.done !== true);
    return missing.length === 0 ? task : { ...task, why: `waits for ${missing.join(', ')}` };
  });
}

/** Describes the live or last loop of these files as a run if it works on a plan, one task after another; null for other loops. */
export function planRunOf({ files, found, live, lastState }: LoopReport, at: string): Run | null {
  const state = found.kind === 'loop' ? found.state : lastState;
  return state && runOfLoop(files, state, live === null ? null : live.status, at);
}

/** As `planRunOf`, for a loop of which `live` is the status if it has not ended. */
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
    next: ended?.next === undefined ? '' : commandLine(ended.next, { ...state, program: programName() }),
    tasks: tasksOf(readPlan(text).tasks, workOf(files, state), { status, loop: { name, loopId } }),
  });
  return { ...run, iterations: iteration, costUsd: totalCost(usage), tokens: billedTokens(usage) || null };
}

type Work = Pick<
  RunTask,
  | 'id'
  | 'title'
  | 'done'
  | 'status'
  | 'proof'
  | 'files'
  | 'iterations'
  | 'costUsd'
  | 'tokens'
  | 'durationMs'
  | 'commit'
  | 'why'
>;

/** Reads from the loop's events what it did on each task, in the order in which it took them up. */
function workOf(files: LoopFiles, { loopId }: LoopState): Work[] {
  const works = new Map<string, Work>();
  let current: Work | null = null;
  const begin = (id: string, title: string): Work => {
    const known = works.get(planKey(id)) ?? { ...OPEN_TASK, id, title, iterations: 0 };
    works.set(planKey(id), known);
    return known;
  };
  const change = (more: Partial<Work>): void => {
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

function withIteration(work: Work | null, { durationMs, kind, agent }: Entry): Partial<Work> {
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

function doneBy({ commit = null, proof = null, files = null }: Entry): Partial<Work> {
  return {
    status: 'complete',
    done: true,
    why: null,
    commit: commit as string | null,
    proof: proof as Proof | null,
    files: files as number | null,
  };
}

/** Returns the first reason that an event of a plan's task names; null if it has none. */
export function reasonIn({ reasons }: Entry): string | null {
  return Array.isArray(reasons) && typeof reasons[0] === 'string' ? reasons[0] : null;
}

/** Returns the tasks of the plan with the loop's work on them; those that are no longer in the plan come last. */
function tasksOf(
  planned: readonly PlanFileTask[],
  works: readonly Work[],
  { status, loop }: { readonly status: string; readonly loop: RunTask['loop'] },
): RunTask[] {
  const byKey = tasksByKey(works);
  const last = works.at(-1);
  const worked = (work: Work): RunTask => {
    const isCurrent = work === last && work.status === 'not-started';
    const own = work.status === 'not-started' ? (isCurrent ? status : 'interrupted') : work.status;
    return { ...OPEN_TASK, ...work, status: own, loop };
  };
  const tasks = planned.map(({ id, title, status: own, dependsOn }): RunTask => {
    const work = byKey.get(planKey(id));
    const needs = [...dependsOn];
    if (work !== undefined) return { ...worked(work), id, title, needs };
    const isDone = own === 'done';
    return {
      ...OPEN_TASK,
      id,
      title,
      needs,
      done: isDone,
      status: own === 'open' ? 'not-started' : isDone ? 'complete' : own,
    };
  });
  const keys = new Set(planned.map(({ id }) => planKey(id)));
  return waitsFor([...tasks, ...works.filter(({ id }) => !keys.has(planKey(id))).map(worked)]);
}
