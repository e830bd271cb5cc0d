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
  /** Annotated `(no-change)`: the task can be done without changing a file. */
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

/** Task that cannot be worked on, and its obstacle, which is the task itself or a dependency. */
interface PassedTask {
  readonly id: string;
  readonly because: string;
  readonly why: 'blocked' | 'manual-verify' | 'unknown';
}

export interface PlanChoice {
  readonly next: PlanTask | null;
  /** Why no task can be worked on, or null; `paused-for-review`: only tasks before the first requested one are left. */
  readonly stop: 'complete' | 'needs-verification' | 'blocked' | 'paused-for-review' | null;
  /** Open tasks that can neither be worked on nor wait for a task that can, in the order of the plan. */
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

/** Returns a function that finds the obstacle of a task in the current plan. Each task is examined once. */
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

/** Input besides the plan for choosing tasks that run side by side. */
interface SideBySide {
  /** Id of the first task; null begins with the first of the plan. */
  readonly from: string | null;
  /** Number of tasks that may still be finished in this session, including active ones. */
  readonly most: number;
  /** Keys of the active tasks. */
  readonly atWork: ReadonlySet<string>;
}

/** Returns the tasks in sequential order, assuming that all of them pass. */
export function sequentialOrder<T extends PlanTask>(tasks: readonly T[], from: string | null, most: number): T[] {
  const order: T[] = [];
  let standing: readonly T[] = tasks;
  while (order.length < most) {
    const { next } = nextPlanTask(standing, from);
    const task = next && tasks.find(({ id }) => planKey(id) === planKey(next.id));
    if (!task) return order;
    order.push(task);
    standing = standing.map((each) => (planKey(each.id) === planKey(task.id) ? { ...each, status: 'done' } : each));
  }
  return order;
}

/**
 * Returns the tasks that may begin now: their dependencies are done, and no earlier unfinished task may change the files of
 * their scope. Each therefore sees the files of its scope as in a sequential run, and no task ever waits for a later one.
 */
export function tasksToBegin<T extends PlanTask>(tasks: readonly T[], { from, most, atWork }: SideBySide): T[] {
  const ready = new Set(readyTasks(tasks).map(({ id }) => planKey(id)));
  const order = sequentialOrder(tasks, from, most);
  return order.filter((task, at) => {
    if (!ready.has(planKey(task.id)) || atWork.has(planKey(task.id))) return false;
    return !order.slice(0, at).some((before) => mayOverlap(before.scope, task.scope));
  });
}

/** Returns whether two scopes may have a file in common. An empty scope is the whole project. */
export function mayOverlap(one: readonly string[], other: readonly string[]): boolean {
  if (one.length === 0 || other.length === 0) return true;
  const folders = other.map(fixedPart);
  return one.map(fixedPart).some((path) => folders.some((folder) => isWithin(path, folder) || isWithin(folder, path)));
}

/** Returns the path up to the first segment with a wildcard, in lower case: some file systems ignore case. */
function fixedPart(entry: string): string {
  const segments = entry.replaceAll('\\', '/').toLowerCase().split('/');
  const wild = segments.findIndex(isGlob);
  return (wild === -1 ? segments : segments.slice(0, wild)).filter((each) => each !== '' && each !== '.').join('/');
}

function isWithin(path: string, folder: string): boolean {
  return folder === '' || path === folder || path.startsWith(`${folder}/`);
}
