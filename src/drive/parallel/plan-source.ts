import { planKey } from '../../engine/plan/task-order.ts';
import { resolveScope } from '../../task/git/task-scope.ts';
import { type PlanFileTask, readPlan } from '../../task/plan/read-plan.ts';
import { readPlanText } from './plan-entry.ts';

/** Reader of the plan in the project, which decides what is done. */
export class PlanSource {
  /** First error of a read; null if there was none. */
  failure: unknown = null;
  readonly #projectDir: string;
  readonly #path: string;

  constructor(projectDir: string, path: string) {
    this.#projectDir = projectDir;
    this.#path = path;
  }

  /** Returns the current tasks; none if the plan cannot be read. */
  now(): readonly PlanFileTask[] {
    try {
      return readPlan(readPlanText(this.#projectDir, this.#path)).tasks;
    } catch (error) {
      this.failure ??= error;
      return [];
    }
  }

  /** Returns the status of a task; undefined if the plan has no such task. */
  statusOf(id: string): PlanFileTask['status'] | undefined {
    return this.now().find((task) => planKey(task.id) === planKey(id))?.status;
  }

  /** Returns the tasks; the scopes of open ones have folders instead of package names. */
  async withScopes(env: NodeJS.ProcessEnv): Promise<readonly PlanFileTask[]> {
    const resolved: PlanFileTask[] = [];
    for (const task of this.now()) {
      const isOpen = task.status === 'open' && task.scope.length > 0;
      resolved.push(isOpen ? { ...task, scope: await resolveScope(this.#projectDir, task.scope, { env }) } : task);
    }
    return resolved;
  }
}
