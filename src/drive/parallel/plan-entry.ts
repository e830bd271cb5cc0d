import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { exitCode } from '../../engine/exit-code.ts';
import { blockedIn, planStop, withoutChangeIn } from '../../engine/plan/attempt.ts';
import { planStopText } from '../../engine/plan/messages.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import type { RunnerEvent } from '../../engine/runner-event.ts';
import type { BatchTask } from '../../engine/schema/batch.ts';
import type { TerminalStatus } from '../../engine/schema/state.ts';
import { regularFile, TASK_FILE_BYTES } from '../../state/files/regular-file.ts';
import { type PlanFileTask, readPlan } from '../../task/plan/read-plan.ts';
import { WORKTREES } from '../../task/task-file.ts';
import { ifRefused, type Message } from '../../text/message.ts';
import type { OverBudget } from '../runner/runner.ts';
import { fitName } from '../start/find-task.ts';
import { describeLoop } from '../status/loop-report.ts';
import { plannedTasks } from '../status/plan-run.ts';
import { removeWorktree } from '../worktree/remove-worktree.ts';
import { worktreeLoop, worktreePlace } from '../worktree/worktree-place.ts';
import { firstCode, NEW_END, NEW_TASK, type PlanBatch, wordsFor } from './batch.ts';
import { PARALLEL_TEXTS } from './messages.ts';
import type { BatchRun, LoopEnd } from './side-by-side-runner.ts';

/** Returns the existing record of a task that is about to begin, or a new one under a name that no worktree has. */
export function entryOf({ tasks, plan }: PlanBatch, projectDir: string, { id, title }: PlanFileTask): BatchTask {
  const known = tasks.find(({ planTask }) => planKey(planTask ?? '') === planKey(id));
  if (known !== undefined) return known;
  const base = fitName(`${basename(plan.path).replace(/\.[^.]*$/, '')}-${id}`) || 'task';
  const isTaken = (name: string): boolean =>
    tasks.some((task) => task.name === name) || existsSync(worktreePlace(projectDir, name).dir);
  let name = base;
  for (let nth = 2; isTaken(name); nth++) name = `${base}-${nth}`;
  return { ...NEW_TASK, name, taskPath: plan.path, planTask: id, title, words: [] };
}

export function wordsOfTask(
  batch: PlanBatch,
  projectDir: string,
  env: NodeJS.ProcessEnv,
  task: BatchTask,
): readonly string[] {
  if (task.step === 'waiting' || !existsSync(worktreePlace(projectDir, task.name).dir))
    return wordsFor(batch, projectDir, task, 'begin');
  const { live, lost, lastState: last } = describeLoop(worktreeLoop(projectDir, task.name, env), env);
  const isComplete = last?.status === 'ended' && last.ended.as === 'complete';
  // A loop killed before its first state has done nothing: it begins again.
  const resumes = live !== null || lost !== null || (last !== null && !isComplete);
  return wordsFor(batch, projectDir, task, resumes ? 'resume' : 'fresh');
}

/** Returns whether the loop of a task has not ended. */
export function isLive(projectDir: string, name: string, env: NodeJS.ProcessEnv): boolean {
  const { live, lost } = describeLoop(worktreeLoop(projectDir, name, env), env);
  return live !== null || lost !== null;
}

/** Returns the tasks of a plan for the record of a run that begins: those that are blocked now are skipped. */
export function tasksAtStart(text: string): Pick<PlanBatch['plan'], 'tasks' | 'blocked' | 'noChange'> {
  const { tasks } = readPlan(text);
  return { tasks: plannedTasks(tasks), blocked: blockedIn(tasks), noChange: withoutChangeIn(tasks) };
}

/** Returns the end of a task whose process was killed after its loop had ended. */
export function endNow(status: 'complete' | 'blocked' | 'stopped'): Omit<LoopEnd, 'died'> {
  const none = { iterations: null, costUsd: null, tokens: 0, message: '', ...NEW_END };
  return { end: { ...none, status, code: exitCode(status) }, loopId: null };
}

/** Leaves out the report of a loop, which would also list the work that other loops committed meanwhile. */
export function withoutReport(event: RunnerEvent): RunnerEvent {
  if (event.type !== 'run.ended') return event;
  const { report: _, ...ended } = event;
  return ended;
}

/** Removes the worktree and the branch of a task whose work is on the plan's branch. */
export function removeDone(
  { projectDir, env, notice }: Pick<BatchRun, 'projectDir' | 'env' | 'notice'>,
  name: string,
): void {
  ifRefused(
    () => removeWorktree(projectDir, name, { env, at: new Date().toISOString() }),
    ({ code, message }) => code === 'no-loop' || notice(message),
  );
}

/** Returns the record of a session that resumes the plan: tasks that are blocked now are skipped. */
export function resumedPlanBatch(projectDir: string, batch: PlanBatch): PlanBatch {
  const { plan } = batch;
  const done = plan.done.length >= plan.maxTasks ? [] : plan.done;
  return { ...batch, plan: { ...plan, ...tasksAtStart(readPlanText(projectDir, plan.path)), done } };
}

interface PlanEnd {
  readonly status: TerminalStatus;
  readonly code: number;
  readonly message: Message;
  /** Nothing is left to resume. */
  readonly isOver: boolean;
}

export function readPlanText(projectDir: string, path: string): string {
  return readFileSync(regularFile(join(projectDir, path), TASK_FILE_BYTES), 'utf8');
}

/** Returns the outcome as a sequential run would report it. Exit code: the first of 130, 1, 2, 3 that any task left. */
export function planEnd(
  projectDir: string,
  { plan, tasks: entries, atOnce, words }: PlanBatch,
  {
    refused,
    pressed,
    isHeld,
  }: { readonly refused: Pick<OverBudget, 'more'> | null; readonly pressed: boolean; readonly isHeld: boolean },
): PlanEnd {
  const { path, from, maxTasks, done, blocked } = plan;
  const { tasks } = readPlan(readPlanText(projectDir, path));
  const known = { current: null, attempts: 0, done, blocked, report: null };
  const stop = planStop(known, tasks, { maxTasks, from });
  const left = entries.filter(({ step }) => step !== 'ended');
  if (left.length > 0 || stop === null) {
    // A loop that was held left by itself, and so waits like one that has not begun.
    const codes = left.map(({ end }) => (end === null || (isHeld && !pressed && end.code === 130) ? 3 : end.code));
    const code = firstCode(codes) ?? (refused === null ? 3 : 2);
    const status = code === 2 ? 'budget-exhausted' : code === 1 ? 'error' : pressed ? 'stopped' : 'interrupted';
    const message = { text: PARALLEL_TEXTS.unfinished(path), advice: [PARALLEL_TEXTS.resume(refused?.more)] };
    return { status, code, message, isOver: false };
  }
  const unproven = words.includes('--require-verified')
    ? entries.flatMap(({ planTask = '', end }) => (end?.proved?.proof === 'none' ? [planTask] : []))
    : [];
  const code = exitCode(stop.as, unproven.length > 0);
  const addition = unproven.length === 0 ? '' : ` ${PARALLEL_TEXTS.unproven(unproven)}`;
  if (stop.as !== 'blocked' || !('became' in stop) || stop.became.length === 0) {
    const { text, advice = [] } = planStopText(stop, known, tasks, path);
    const again = advice.map((each) =>
      each.options?.['plan'] === true
        ? { ...each, command: 'run', options: { ...each.options, parallel: String(atOnce) } }
        : each,
    );
    const message = { text: text + addition, advice: again };
    return { status: stop.as, code, message, isOver: stop.as !== 'blocked' };
  }
  const keys = stop.became.map(planKey);
  const places = entries
    .filter(({ planTask = '' }) => keys.includes(planKey(planTask)))
    .map(({ name }) => `${WORKTREES}/${name}`);
  const text = PARALLEL_TEXTS.blocked(stop.became, path, places);
  return { status: 'blocked', code, message: { text, advice: [PARALLEL_TEXTS.resume()] }, isOver: false };
}
