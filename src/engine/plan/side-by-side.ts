import { isGlob, nextPlanTask, type PlanTask, planKey, readyTasks } from './attempt.ts';

/** Input besides the plan for choosing tasks that run side by side. */
interface SideBySide {
  /** Id of the first task; null begins with the first of the plan. */
  readonly from: string | null;
  /** Number of tasks that may still end in this session, including active ones. */
  readonly most: number;
  /** Keys of the active tasks. */
  readonly atWork: ReadonlySet<string>;
}

/** Returns the tasks in the order of sequential execution, if all of them pass. */
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
