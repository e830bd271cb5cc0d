import { basename, relative, resolve } from 'node:path';
import { nextPlanTask } from '../../src/core/next-plan-task.ts';
import type { PlanStatusAnswer } from '../../src/core/schema/plan-answers.ts';
import { readRegularFile } from '../../src/state/read-regular-file.ts';
import { readPlan } from '../../src/task/plan/read-plan.ts';
import { painter } from '../../src/term/paint.ts';
import { printable } from '../../src/term/printable.ts';
import type { CommandContext } from './command.ts';
import { planTable } from './plan-report.ts';

/** Above what a plan may have, so that a larger file is read as far as to say so. */
const MOST_BYTES = 2 * 1024 * 1024;

/** How the plan in this file stands, for people or as JSON; null where it holds no task of a plan. */
export function planStatus({ projectDir, forPeople, env }: CommandContext, given: string): string | null {
  const path = resolve(given);
  if (['RALPH.md', 'task.md'].includes(basename(path))) return null;
  const text = readRegularFile(path, MOST_BYTES);
  const plan = text === null ? null : readPlan(text);
  if (plan === null || plan.tasks.length === 0) return null;
  const { tasks, problems } = plan;
  const choice = nextPlanTask(tasks);
  const shown = relative(projectDir, path).split('\\').join('/');
  if (forPeople) {
    const errors = problems.filter(({ severity }) => severity === 'error').length;
    const wrong =
      errors === 0 ? [] : [`It has ${errors === 1 ? 'an error' : `${errors} errors`}: main.cjs plan check ${given}`];
    const paint = painter(forPeople, env);
    return [printable(shown), '', planTable({ plan, choice }, paint), ...wrong.map(printable)].join('\n');
  }
  const { next, stop } = choice;
  const status: PlanStatusAnswer = {
    plan: shown,
    done: tasks.filter((task) => task.status === 'done').length,
    total: tasks.length,
    next: next === null ? null : { id: next.id, title: next.title },
    stop,
    tasks: tasks.map(({ id, title, status: state, dependsOn, scope, line }) => {
      return { id, title, status: state, dependsOn: [...dependsOn], scope: [...scope], line };
    }),
  };
  return JSON.stringify(status, null, 2);
}
