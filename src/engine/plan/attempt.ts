import type { Policy } from '../schema/contract.ts';
import type { PlanState } from '../schema/plan.ts';
import type { ProvedWork } from '../schema/proof.ts';

/** Status of a task. `blocked` and `manual-verify` are annotations after an empty box; a ticked box is always `done`. */
export type PlanTaskStatus = 'open' | 'done' | 'blocked' | 'manual-verify';

/** Fields of a task that determine the next one. */
export interface PlanTask {
  /** Id as written in the plan: `Task 5`, or a single word. */
  readonly id: string;
  readonly title: string;
  readonly status: PlanTaskStatus;
  /** Ids as the tasks themselves spell them; unknown ones are unchanged. */
  readonly dependsOn: readonly string[];
  /** Paths, folders, globs or package names. Empty: none were declared. */
  readonly scope: readonly string[];
  /** Line of its box in the whole file, from 1. */
  readonly line: number;
  /** The annotation `(no-change)`: the task is done without a changed file. */
  readonly noChange?: boolean;
}

/** Returns the key of an id: `Task 5`, `task  5` and `5` are the same task. */
export function planKey(id: string): string {
  return id
    .trim()
    .replace(/^tasks?\s+/i, '')
    .toLowerCase();
}

/** Returns the tasks by key. Of two tasks with the same id, which is an error of the plan, the first wins. */
export function tasksByKey<T extends Pick<PlanTask, 'id'>>(tasks: readonly T[]): Map<string, T> {
  return new Map(tasks.toReversed().map((task) => [planKey(task.id), task]));
}

/** Task that cannot be worked on, and its obstacle: itself or one of its dependencies. */
interface PassedTask {
  readonly id: string;
  readonly because: string;
  readonly why: 'blocked' | 'manual-verify' | 'unknown';
}

export interface PlanChoice {
  readonly next: PlanTask | null;
  /** Reason why no task can be worked on; `paused-for-review`: only tasks before the first requested one are left. */
  readonly stop: 'complete' | 'needs-verification' | 'blocked' | 'paused-for-review' | null;
  /** Tasks that are neither done nor waiting for a task that can be worked on, in the order of the plan. */
  readonly passed: readonly PassedTask[];
}

/** Chooses the first open task, beginning with `from`, whose dependencies are all done. Total, in linear time. */
export function nextPlanTask(tasks: readonly PlanTask[], from: string | null = null): PlanChoice {
  const open = tasks.filter(({ status }) => status !== 'done');
  if (open.length === 0) return { next: null, stop: 'complete', passed: [] };
  const obstacles = obstacleFinder(tasks);
  const first = from === null ? 0 : tasks.findIndex(({ id }) => planKey(id) === planKey(from));
  const late = new Set(tasks.slice(Math.max(0, first)).map(({ id }) => planKey(id)));
  const ready = readyTasks(tasks);
  const next = ready.find(({ id }) => late.has(planKey(id))) ?? null;
  const passed = open.flatMap((task): PassedTask[] => {
    const obstacle = obstacles(task);
    return obstacle === null ? [] : [{ id: task.id, ...obstacle }];
  });
  if (next !== null) return { next, stop: null, passed };
  if (ready.length > 0) return { next: null, stop: 'paused-for-review', passed };
  // Blocked tasks are skipped; what remains is a task that a person has to verify.
  const manual = passed.some(({ id, because, why }) => why === 'manual-verify' && id === because);
  return { next: null, stop: manual ? 'needs-verification' : 'blocked', passed };
}

/** Returns the open tasks whose dependencies are all done, in the order of the plan. */
export function readyTasks<T extends PlanTask>(tasks: readonly T[]): T[] {
  const done = new Set(tasks.filter(({ status }) => status === 'done').map(({ id }) => planKey(id)));
  return tasks.filter(({ status, dependsOn }) => status === 'open' && dependsOn.every((id) => done.has(planKey(id))));
}

type Obstacle = Pick<PassedTask, 'because' | 'why'>;

/** Returns a function that finds the obstacle of a task in the current plan. Examines each task once. */
function obstacleFinder(tasks: readonly PlanTask[]): (task: PlanTask) => Obstacle | null {
  const byKey = tasksByKey(tasks);
  const known = new Map<string, Obstacle | null>();
  const find = (task: PlanTask): Obstacle | null => {
    const key = planKey(task.id);
    const before = known.get(key);
    if (before !== undefined) return before;
    // No task of a cycle can be the first.
    known.set(key, { because: task.id, why: 'unknown' });
    const found = ofTask(task);
    known.set(key, found);
    return found;
  };
  const ofTask = (task: PlanTask): Obstacle | null => {
    if (task.status === 'done') return null;
    if (task.status !== 'open') return { because: task.id, why: task.status };
    for (const id of task.dependsOn) {
      const needed = byKey.get(planKey(id));
      if (needed === undefined) return { because: id, why: 'unknown' };
      const obstacle = find(needed);
      if (obstacle !== null) return obstacle;
    }
    return null;
  };
  return find;
}

export function isGlob(entry: string): boolean {
  return /[*?[\]{}!]/.test(entry);
}

/** Returns whether a path is in scope. A glob without a slash matches file names; an empty scope is the whole project. */
export function inScope(
  path: string,
  scope: readonly string[],
  matchesGlob: (glob: string, path: string) => boolean,
): boolean {
  if (path.startsWith('../')) return false;
  if (scope.length === 0) return true;
  const name = path.slice(path.lastIndexOf('/') + 1);
  return scope.some((entry) => {
    if (entry === '' || entry === '.') return true;
    // A folder may be named `[id]`.
    if (path === entry || path.startsWith(`${entry}/`)) return true;
    if (!isGlob(entry)) return false;
    return matchesGlob(entry, entry.includes('/') ? path : name) || matchesGlob(`${entry}/**`, path);
  });
}

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
  /** What its commit holds; absent for a task that is not done. */
  readonly work?: ProvedWork & { readonly commit: string | null };
}

export const MOST_ATTEMPTS = 2;

const NO_PLAN_STATE: PlanState = { current: null, attempts: 0, done: [], blocked: null, report: null };

/** Returns the plan's progress. Hooks do not check this part of a state: an invalid one counts as a new session. */
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

/** Returns whether the message of a failed attempt is for the user, because it blocks the task, and not for the agent. */
export function isForUser(plan: PlanState): boolean {
  return attemptVerdict(plan, false) === 'blocked';
}

/** Returns whether a further failure blocks the task: returned work has one more attempt. */
export function isLastAttempt({ attempts, returned }: PlanState): boolean {
  return returned === true || attempts + 1 >= MOST_ATTEMPTS;
}

/** Returns the outcome of work that passed by itself but does not fit the work of other tasks: it is returned once. */
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
