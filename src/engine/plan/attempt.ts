import type { Policy } from '../schema/contract.ts';
import type { PlanState } from '../schema/plan.ts';
import type { ProvedWork } from '../schema/proof.ts';
import { nextPlanTask, type PlanChoice, type PlanTask, planKey, readyTasks } from './task-order.ts';

/** Task as the engine sees it; its acceptance is what a person may have to verify. */
export interface ToldTask extends PlanTask {
  readonly acceptance: readonly string[];
}

export interface PlanAttempt {
  readonly task: Pick<PlanTask, 'id' | 'title'>;
  /** `returned`: it passed by itself, but not together with the later work of other tasks. */
  readonly as: 'done' | 'partial' | 'failed' | 'returned' | 'blocked';
  readonly tasks: readonly ToldTask[];
  readonly notes: readonly string[];
  /** What a done task rests on, in one line; absent if it is unknown. */
  readonly proof?: string;
  /** Content of its commit; absent for a task that is not done. */
  readonly work?: ProvedWork & { readonly commit: string | null };
}

export const MOST_ATTEMPTS = 2;

const NO_PLAN_STATE: PlanState = { current: null, attempts: 0, done: [], blocked: null, report: null };

/** Returns the plan's progress. Hooks do not validate this part of a state: an invalid one counts as a new session. */
export function planOf({ plan }: { readonly plan?: unknown }): PlanState {
  return isSound(plan) ? plan : NO_PLAN_STATE;
}

function isSound(plan: unknown): plan is PlanState {
  if (typeof plan !== 'object' || plan === null) return false;
  const { current, attempts, done, blocked, report } = plan as Record<keyof PlanState, unknown>;
  const texts = (value: unknown): boolean => Array.isArray(value) && value.every((each) => typeof each === 'string');
  const holds = (value: unknown, keys: readonly string[]): boolean =>
    typeof value === 'object' &&
    value !== null &&
    keys.every((key) => typeof (value as Record<string, unknown>)[key] === 'string');
  return (
    (current === null || holds(current, ['id', 'title', 'commit'])) &&
    (report === null || holds(report, ['text', 'said'])) &&
    (blocked === null || texts(blocked)) &&
    texts(done) &&
    Number.isInteger(attempts)
  );
}

/** Returns the outcome of an attempt. A report of `blocked` is believed; `partial` does not count as failed. */
export function attemptVerdict(plan: PlanState, passed: boolean): PlanAttempt['as'] {
  const said = plan.report?.said ?? 'done';
  if (said === 'blocked') return 'blocked';
  if (said === 'partial') return 'partial';
  if (passed) return 'done';
  return isLastAttempt(plan) ? 'blocked' : 'failed';
}

/** Returns whether the message of a failed attempt is for the user, because it blocks the task, not for the agent. */
export function isForUser(plan: PlanState): boolean {
  return attemptVerdict(plan, false) === 'blocked';
}

/** Returns whether a further failure blocks the task: returned work has one more attempt. */
export function isLastAttempt({ attempts, returned }: PlanState): boolean {
  return returned === true || attempts + 1 >= MOST_ATTEMPTS;
}

/** Returns the outcome of work that passed by itself but conflicts with that of other tasks: it is returned once. */
export function misfitVerdict(plan: PlanState): 'returned' | 'blocked' {
  return plan.returned === true ? 'blocked' : 'returned';
}

export type PlanStop =
  | { readonly as: 'complete' | 'needs-verification'; readonly choice: PlanChoice }
  /** The only task of this loop is done or blocked. */
  | { readonly as: 'complete' | 'blocked'; readonly only: string; readonly choice: PlanChoice }
  /** `became`: tasks that were not blocked when the session began. */
  | { readonly as: 'blocked'; readonly became: readonly string[]; readonly choice: PlanChoice }
  /** `why`: the session's limit of tasks is reached, or only tasks before the first requested one are left. */
  | { readonly as: 'paused-for-review'; readonly why: 'max-tasks' | 'from'; readonly choice: PlanChoice };

/** Returns how the loop over a plan ends now; null if there is a task to work on. */
export function planStop(
  plan: PlanState,
  tasks: readonly PlanTask[],
  { maxTasks, from, only }: NonNullable<Policy['plan']>,
): PlanStop | null {
  if (only !== undefined) return stopOfOne(tasks, only);
  const choice = nextPlanTask(tasks, from);
  if (choice.stop === 'complete') return { as: 'complete', choice };
  const before = new Set((plan.blocked ?? blockedIn(tasks)).map(planKey));
  const became = blockedIn(tasks).filter((id) => !before.has(planKey(id)));
  if (became.length > 0) return { as: 'blocked', became, choice };
  if (choice.stop === 'needs-verification') return { as: choice.stop, choice };
  if (choice.stop === 'blocked') return { as: 'blocked', became: [], choice };
  if (choice.stop === 'paused-for-review') return { as: choice.stop, why: 'from', choice };
  return plan.done.length >= maxTasks ? { as: 'paused-for-review', why: 'max-tasks', choice } : null;
}

function stopOfOne(tasks: readonly PlanTask[], only: string): PlanStop | null {
  const isIt = ({ id }: PlanTask): boolean => planKey(id) === planKey(only);
  if (readyTasks(tasks).some(isIt)) return null;
  const isDone = tasks.some((task) => isIt(task) && task.status === 'done');
  return { as: isDone ? 'complete' : 'blocked', only, choice: nextPlanTask(tasks) };
}

export function blockedIn(tasks: readonly PlanTask[]): string[] {
  return tasks.filter(({ status }) => status === 'blocked').map(({ id }) => id);
}

/** Returns the keys of the tasks that need no change of a file. */
export function withoutChangeIn(tasks: readonly PlanTask[]): string[] {
  return tasks.flatMap(({ id, noChange }) => (noChange === true ? [planKey(id)] : []));
}

export function withDone(plan: PlanState, id: string): PlanState {
  const { returned: _, ...rest } = plan;
  return { ...rest, current: null, attempts: 0, done: [...plan.done, id] };
}

/** Returns the plan's state for a started or resumed loop: tasks that are blocked now are skipped. */
export function resumedPlan(state: { readonly plan?: unknown }, maxTasks: number): PlanState {
  const { returned: _, resumed: __, ...before } = planOf(state);
  return { ...before, attempts: 0, blocked: null, done: before.done.length >= maxTasks ? [] : before.done };
}
