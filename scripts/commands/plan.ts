import { resolve } from 'node:path';
import { RalphError } from '../../src/core/ralph-error.ts';
import type { PlanCheckAnswer } from '../../src/core/schema/plan-answers.ts';
import { painter } from '../../src/term/paint.ts';
import { printable } from '../../src/term/printable.ts';
import type { Command, CommandContext } from './command.ts';
import { type CheckedPlan, checkedPlan, planTable } from './plan-report.ts';

export const PLAN_COMMAND: Command = {
  name: 'plan',
  summary: 'Check a plan of tasks, all problems at once.',
  usage: 'check FILE',
  help: 'Checks a plan as run and start would, without starting anything: ids that are there twice, dependencies that are unknown or wait for each other, tasks without acceptance are errors; a missing or vague scope and a task that is too big for one iteration are warnings. A task is written "- [ ] **Task 1: Title**" at the left margin, with Scope, Depends on, Acceptance and Notes indented below it. Then it says which task comes next. Exit code 1 when there is an error.',
  options: {},
  control: false,
  run(context) {
    const [verb, file, ...more] = context.positionals;
    if (verb !== 'check' || file === undefined || more.length > 0) {
      throw new RalphError('usage', 'write it as main.cjs plan check FILE.');
    }
    const checked = checkedPlan(resolve(file), file);
    const { ok } = checked;
    context.out(context.forPeople ? forReading(file, checked, context) : JSON.stringify(answer(checked), null, 2));
    return ok ? 0 : 1;
  },
};

function answer({ ok, plan, problems, choice }: CheckedPlan): PlanCheckAnswer {
  const tasks = plan.tasks.map(({ id, title, status, dependsOn, scope, line }) => {
    return { id, title, status, dependsOn: [...dependsOn], scope: [...scope], line };
  });
  // A plan without a task is not complete: it is none.
  const stop = tasks.length === 0 ? null : choice.stop;
  return { ok, tasks, problems: [...problems], next: choice.next?.id ?? null, stop };
}

function forReading(file: string, checked: CheckedPlan, { env, forPeople }: CommandContext): string {
  const paint = painter(forPeople, env);
  const problems = checked.problems.map(({ line, severity, message }) => {
    return `${file}:${line}: ${paint(severity === 'error' ? 'red' : 'yellow', severity)}: ${printable(message)}`;
  });
  const lines = problems.length === 0 ? [`${file} is fine.`] : problems;
  return checked.plan.tasks.length === 0 ? lines.join('\n') : [...lines, '', planTable(checked, paint)].join('\n');
}
