/** `blocked` and `manual-verify` stand as annotations behind an empty box; a ticked box is `done` whatever stands behind it. */
export type PlanTaskStatus = 'open' | 'done' | 'blocked' | 'manual-verify';

/** A task of a plan, as far as the choice of the next one needs it. */
export interface PlanTask {
  /** As the plan writes it: `Task 5`, or a token alone. */
  readonly id: string;
  readonly title: string;
  readonly status: PlanTaskStatus;
  /** Ids as the tasks themselves write them; what names no task of the plan stays as it was written. */
  readonly dependsOn: readonly string[];
  /** Paths, folders, globs or package names. Empty: nothing was declared. */
  readonly scope: readonly string[];
  /** Of its box, counted from 1 in the whole file. */
  readonly line: number;
}

/** `Task 5`, `task  5` and `5` name the same task. */
export function planKey(id: string): string {
  return id
    .trim()
    .replace(/^tasks?\s+/i, '')
    .toLowerCase();
}

/** Of two tasks with one id, which is an error of the plan, the first. */
export function tasksByKey<T extends Pick<PlanTask, 'id'>>(tasks: readonly T[]): Map<string, T> {
  return new Map(tasks.toReversed().map((task) => [planKey(task.id), task]));
}
