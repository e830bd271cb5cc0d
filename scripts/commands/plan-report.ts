import type { PlanProblem } from '../../src/core/lint-plan.ts';
import { nextPlanTask, type PlanChoice } from '../../src/core/next-plan-task.ts';
import { checkTaskFile } from '../../src/task/check-task-file.ts';
import { type PlanFile, readPlan } from '../../src/task/plan/read-plan.ts';
import type { Paint } from '../../src/term/paint.ts';
import { printable } from '../../src/term/printable.ts';
import { table } from '../../src/term/table.ts';
import { readTaskText } from './read-task-text.ts';

export interface CheckedProblem extends Omit<PlanProblem, 'rule'> {
  /** Of the plan's lint, or of the frontmatter. */
  readonly rule: string;
}

/** A plan as its file stands now. */
export interface CheckedPlan {
  /** No error is among its problems. */
  readonly ok: boolean;
  readonly plan: PlanFile;
  /** Of the plan, and what keeps its frontmatter from being used; in the order of the file. */
  readonly problems: readonly CheckedProblem[];
  readonly choice: PlanChoice;
}

/** Throws `task-missing` where there is no such file. `path` is absolute, `shown` what the user called it. */
export function checkedPlan(path: string, shown: string): CheckedPlan {
  const text = readTaskText(path, shown);
  const plan = readPlan(text);
  const problems = [...frontmatterErrors(path, text), ...plan.problems].sort((a, b) => a.line - b.line);
  const ok = !problems.some(({ severity }) => severity === 'error');
  return { ok, plan, problems, choice: nextPlanTask(plan.tasks) };
}

/** That the file is a plan is no error of it here. */
function frontmatterErrors(path: string, text: string): CheckedProblem[] {
  return checkTaskFile(path, text).problems.flatMap(({ line, rule, message, severity }) =>
    severity === 'error' && rule !== 'plan-as-prompt'
      ? [{ line: line ?? 1, taskId: null, rule, message, severity }]
      : [],
  );
}

/** The tasks of a plan for people: one a line, and what is next. */
export function planTable({ plan: { tasks }, choice }: Pick<CheckedPlan, 'plan' | 'choice'>, paint: Paint): string {
  const passed = new Map(choice.passed.map((each) => [each.id, each]));
  const rows = tasks.map(({ id, title, status, dependsOn }) => {
    const obstacle = passed.get(id);
    const waits = obstacle !== undefined && obstacle.because !== id ? `waits for ${obstacle.because}` : '';
    const shown = status === 'open' && choice.next?.id === id ? paint('bold', 'next') : status;
    const needs = dependsOn.length === 0 ? '-' : dependsOn.join(', ');
    return [printable(id), shown, printable(title), printable(needs), printable(waits)];
  });
  const head = ['TASK', 'STATE', 'TITLE', 'DEPENDS ON', ''].map((cell) => paint('dim', cell));
  return [table([head, ...rows]), '', printable(whatIsNext(tasks, choice))].join('\n');
}

function whatIsNext(tasks: PlanFile['tasks'], { next, stop, passed }: PlanChoice): string {
  const done = tasks.filter(({ status }) => status === 'done').length;
  const count = `${done} of ${tasks.length} done.`;
  if (next !== null) return `${count} Next: ${next.id}, ${next.title}.`;
  const of = (why: string): string =>
    passed
      .filter((each) => each.why === why && each.because === each.id)
      .map(({ id }) => id)
      .join(', ');
  switch (stop) {
    case 'complete':
      return `${count} The plan is complete.`;
    case 'needs-verification':
      return `${count} What is left a person has to verify: ${of('manual-verify')}.`;
    default:
      return `${count} No task can be worked on${of('blocked') === '' ? '' : `: blocked by ${of('blocked')}`}.`;
  }
}
