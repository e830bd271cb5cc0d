import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { exitCode } from '../../engine/exit-code.ts';
import { blockedIn } from '../../engine/plan/attempt.ts';
import { planKey } from '../../engine/plan/task-order.ts';
import type { RunnerEvent } from '../../engine/runner-event.ts';
import { loopFiles } from '../../state/loop-files.ts';
import { type PlanFileTask, readPlan } from '../../task/plan/read-plan.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { fitName } from '../start/find-task.ts';
import { describeLoop } from '../status/loop-report.ts';
import { removeWorktree } from '../worktree/remove-worktree.ts';
import { worktreePlace } from '../worktree/worktree-place.ts';
import { type BatchTask, NEW_END, type PlanBatch } from './batch.ts';
import type { LoopEnd } from './loop-process.ts';
import { readPlanText } from './plan-end.ts';
import type { BatchRun } from './run-batch.ts';

/** Returns the record of a task that is to begin: the one it has, or a new one with a name that no worktree has. */
export function entryOf({ tasks, plan }: PlanBatch, projectDir: string, { id }: PlanFileTask): BatchTask {
  const known = tasks.find(({ planTask }) => planKey(planTask ?? '') === planKey(id));
  if (known !== undefined) return known;
  const base = fitName(`${basename(plan.path).replace(/\.[^.]*$/, '')}-${id}`) || 'task';
  const isTaken = (name: string): boolean =>
    tasks.some((task) => task.name === name) || existsSync(worktreePlace(projectDir, name).dir);
  let name = base;
  for (let nth = 2; isTaken(name); nth++) name = `${base}-${nth}`;
  return { name, taskPath: plan.path, planTask: id, words: [], step: 'waiting', end: null };
}

/** Returns the words of the command that begins or resumes a task. */
export function wordsFor(
  { words, rest, plan }: PlanBatch,
  projectDir: string,
  env: NodeJS.ProcessEnv,
  { name, step, taskPath }: BatchTask,
): readonly string[] {
  const place = worktreePlace(projectDir, name);
  const from = plan.from === null ? [] : ['--from', plan.from];
  const common = ['--loop', name, '--worktree', '--json', '--max-tasks', String(plan.maxTasks), ...from, ...words];
  const whole = [...common, ...(rest.length === 0 ? [] : ['--', ...rest])];
  const isNew = step === 'waiting' || !existsSync(place.dir);
  if (!isNew && canResume(place.projectDir, name, env)) return ['run', '--resume', ...whole];
  const fresh = isNew ? [] : ['--fresh'];
  return ['run', '--task', join(projectDir, taskPath), '--plan', ...fresh, ...whole];
}

function canResume(projectDir: string, name: string, env: NodeJS.ProcessEnv): boolean {
  const { live, lastState: last } = describeLoop(loopFiles(projectDir, name, env), env);
  // One that was killed before its first state has done nothing: it begins again.
  if (live !== null) return true;
  return last !== null && !(last.status === 'ended' && last.ended.as === 'complete');
}

/** Returns whether the loop of a task has not ended. */
export function isLive(projectDir: string, name: string, env: NodeJS.ProcessEnv): boolean {
  const { live, lost } = describeLoop(loopFiles(worktreePlace(projectDir, name).projectDir, name, env), env);
  return live !== null || lost !== null;
}

/** Returns the end of a task whose process was killed after its loop had ended. */
export function endNow(status: 'complete' | 'blocked' | 'stopped'): Pick<LoopEnd, 'end'> {
  const none = { iterations: null, costUsd: null, tokens: 0, message: '', ...NEW_END };
  return { end: { ...none, status, code: exitCode(status) } };
}

/** Leaves out the report of a loop: beside it others were committed, and it would name their work as well. */
export function withoutReport(event: RunnerEvent): RunnerEvent {
  if (event.type !== 'loop-ended') return event;
  const { report: _, ...ended } = event;
  return ended;
}

/** Removes the worktree and the branch of a task whose work is on the plan's branch. */
export function removeDone(
  { projectDir, env, notice }: Pick<BatchRun, 'projectDir' | 'env' | 'notice'>,
  name: string,
): void {
  try {
    removeWorktree(projectDir, name, { force: true, env, at: new Date().toISOString() });
  } catch (error) {
    if (!(error instanceof RalphError)) throw error;
    if (error.code !== 'no-loop') notice(error.message);
  }
}

/** Returns the record of a session that takes the plan up: tasks that are blocked now are skipped. */
export function resumedPlanBatch(projectDir: string, batch: PlanBatch): PlanBatch {
  const { plan } = batch;
  const { tasks } = readPlan(readPlanText(projectDir, plan.path));
  const done = plan.done.length >= plan.maxTasks ? [] : plan.done;
  return { ...batch, plan: { ...plan, blocked: blockedIn(tasks), done } };
}
