import { type PlanTask, planKey, tasksByKey } from './plan-task.ts';

/** A task that cannot be worked on, and the task that stands in its way: itself, or one that it depends on. */
export interface PassedTask {
  readonly id: string;
  readonly because: string;
  readonly why: 'blocked' | 'manual-verify' | 'unknown';
}

export interface PlanChoice {
  /** The first task that can be worked on. */
  readonly next: PlanTask | null;
  /**
   * What follows where none can: all are done, a person has to verify something, everything left is blocked, or only
   * tasks before the one to begin from are left.
   */
  readonly stop: 'complete' | 'needs-verification' | 'blocked' | 'paused-for-review' | null;
  /** Those that are neither done nor waiting for a task that can still be worked on, in the order of the plan. */
  readonly passed: readonly PassedTask[];
}

/**
 * Chooses the first incomplete task that is neither blocked nor for a person to verify, and whose dependencies are all
 * done. `from` is the id of the first task to begin from: those before it are not chosen, done or not. A blocked task is
 * passed over with all that depends on it. Total: any list gives an answer, in linear time.
 */
export function nextPlanTask(tasks: readonly PlanTask[], from: string | null = null): PlanChoice {
  const open = tasks.filter(({ status }) => status !== 'done');
  if (open.length === 0) return { next: null, stop: 'complete', passed: [] };
  const obstacles = obstacleFinder(tasks);
  const first =
    from === null
      ? 0
      : Math.max(
          0,
          tasks.findIndex(({ id }) => planKey(id) === planKey(from)),
        );
  const late = new Set(tasks.slice(first).map(({ id }) => planKey(id)));
  const ready = readyTasks(tasks);
  const next = ready.find(({ id }) => late.has(planKey(id))) ?? null;
  const passed = open.flatMap((task): PassedTask[] => {
    const obstacle = obstacles(task);
    return obstacle === null ? [] : [{ id: task.id, ...obstacle }];
  });
  if (next !== null) return { next, stop: null, passed };
  if (ready.length > 0) return { next: null, stop: 'paused-for-review', passed };
  // What is blocked is passed over; a task that a person has to verify is what is left then.
  const manual = passed.some(({ id, because, why }) => why === 'manual-verify' && id === because);
  return { next: null, stop: manual ? 'needs-verification' : 'blocked', passed };
}

/** The open tasks whose dependencies are all done, in the order of the plan. */
export function readyTasks<T extends PlanTask>(tasks: readonly T[]): T[] {
  const done = new Set(tasks.filter(({ status }) => status === 'done').map(({ id }) => planKey(id)));
  return tasks.filter(({ status, dependsOn }) => status === 'open' && dependsOn.every((id) => done.has(planKey(id))));
}

type Obstacle = Pick<PassedTask, 'because' | 'why'>;

/** Finds what keeps a task from ever being worked on as the plan stands: each task is looked at once. */
function obstacleFinder(tasks: readonly PlanTask[]): (task: PlanTask) => Obstacle | null {
  const byKey = tasksByKey(tasks);
  const known = new Map<string, Obstacle | null>();
  const find = (task: PlanTask): Obstacle | null => {
    const key = planKey(task.id);
    const before = known.get(key);
    if (before !== undefined) return before;
    // A circle has no task that could be the first.
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
