import { join } from 'node:path';
import { planKey } from '../../engine/plan/task-order.ts';
import { homeFolder } from '../../state/home-folder.ts';
import { resolveScope } from '../../task/git/task-scope.ts';
import { holdPlan, type PlanFileTask, readPlan, tickTask } from '../../task/plan/read-plan.ts';
import { buildContract } from '../../task/settings/build-contract.ts';
import { fileSet } from '../control/protection.ts';
import { replaceText } from '../plan/commit-journal.ts';
import { changedTasks } from '../plan/examine-work.ts';
import { heldTexts, PLAN_TEXTS } from '../plan/messages.ts';
import type { Prepared } from '../start/stages.ts';
import { askGit } from '../worktree/repository.ts';
import type { PlanBatch } from './batch.ts';
import { readPlanText } from './plan-entry.ts';

/** The plan in the project, which decides what is done. Between two commits it is kept as the loops left it. */
export class PlanSource {
  /** First error of a read; null if there was none. */
  failure: unknown = null;
  /** Text as last kept, with the ticks of tasks done since; null before the first read. */
  #held: string | null = null;
  readonly #projectDir: string;
  readonly #path: string;

  constructor(projectDir: string, path: string) {
    this.#projectDir = projectDir;
    this.#path = path;
  }

  /**
   * Puts back tasks that were removed before they were done, and clears boxes that no loop has ticked. Ticks of tasks in
   * `mayBeDone` may record a killed process's commit. Returns messages for the user. Never called while a loop writes the plan
   * in its turn.
   */
  hold(mayBeDone: readonly string[]): string[] {
    try {
      const found = readPlanText(this.#projectDir, this.#path);
      const known = this.#held ?? found;
      const held = holdPlan(mayBeDone.reduce(ticked, known), found);
      this.#held = holdPlan(known, held.text).text;
      // A loop itself marks its task as blocked.
      const changed = changedTasks(known, this.#held).filter((text) => !text.endsWith('(blocked)'));
      if (held.text !== found) replaceText(join(this.#projectDir, this.#path), held.text);
      const texts = heldTexts(held, this.#path);
      return changed.length === 0 ? texts : [...texts, PLAN_TEXTS.tasksChanged(changed, this.#path)];
    } catch (error) {
      this.failure ??= error;
      return [];
    }
  }

  /** Adopts the tick of a task that its loop has done. */
  done(id: string): void {
    this.#held = this.#held && ticked(this.#held, id);
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

  statusOf(id: string): PlanFileTask['status'] | undefined {
    return this.now().find((task) => planKey(task.id) === planKey(id))?.status;
  }

  /** Returns the tasks; scopes of open ones have folders instead of package names. */
  async withScopes(env: NodeJS.ProcessEnv): Promise<readonly PlanFileTask[]> {
    const resolved: PlanFileTask[] = [];
    for (const task of this.now()) {
      const isOpen = task.status === 'open' && task.scope.length > 0;
      resolved.push(isOpen ? { ...task, scope: await resolveScope(this.#projectDir, task.scope, { env }) } : task);
    }
    return resolved;
  }
}

function ticked(text: string, id: string): string {
  const task = readPlan(text).tasks.find((each) => planKey(each.id) === planKey(id));
  return task === undefined ? text : tickTask(text, task);
}

/** Returns the files that a plan's checks rest on and protect, as of this commit. */
export function restsOf({ terms }: Prepared, commit: string): PlanBatch['plan']['rests'] {
  const files = Object.keys(buildContract({ ...terms, loopId: 'plan' }).contract.scripts).map((key) =>
    key.replace(/#.*$/s, ''),
  );
  const { guardrails, unchanged = [] } = terms;
  return { commit, files: [...new Set(files)], patterns: [...guardrails.protectedFiles, ...unchanged] };
}

/** Returns the files behind a plan's checks whose version on its branch differs from that in the recorded commit. */
export function changedSince(
  projectDir: string,
  { commit, files, patterns }: NonNullable<PlanBatch['plan']['rests']>,
  env: NodeJS.ProcessEnv,
): readonly string[] {
  const words = ['diff-tree', '-r', '-z', '--name-only', '--no-renames', '--relative', commit, 'HEAD'];
  const { covers } = fileSet(projectDir, homeFolder(env), patterns);
  return askGit(projectDir, words, env, 'the changes of the branch could not be listed')
    .split('\0')
    .filter((path) => path !== '' && (files.includes(path) || covers(join(projectDir, path))));
}
