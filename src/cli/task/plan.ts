import { basename, relative, resolve } from 'node:path';
import { PLAN_TEXTS } from '../../drive/plan/messages.ts';
import type { PlanProblem } from '../../engine/plan/lint-plan.ts';
import { nextPlanTask, type PlanChoice } from '../../engine/plan/task-order.ts';
import type { PlanCheckAnswer, PlanStatusAnswer } from '../../engine/schema/plan.ts';
import { readRegularFile } from '../../state/files/regular-file.ts';
import { show } from '../../state/process/program.ts';
import { checkTaskFile } from '../../task/check/check-task-file.ts';
import { otherLoopText } from '../../task/other-tools.ts';
import { type PlanFile, readPlan } from '../../task/plan/read-plan.ts';
import { type Paint, printable, table } from '../../term/format.ts';
import { advise, RalphError } from '../../text/message.ts';
import { quoted } from '../../text/quote.ts';
import { pathNamed, readTaskText } from '../choose-loop.ts';
import type { Command, CommandContext } from '../command.ts';
import { startProblems } from './check.ts';
import { examineFile } from './try-checks.ts';

export const PLAN_COMMAND: Command = {
  name: 'plan',
  usage: 'check FILE',
  help: 'Checks a plan as run and start would, without starting anything: ids, dependencies, acceptance, scope and size of its tasks. It also prints which task is next. The exit code is 1 if there is an error.',
  example: 'ralph-loop plan check PLAN.md',
  run(context) {
    const [verb, file, ...more] = context.positionals;
    if (verb !== 'check') throw usage('plan has one action, check.');
    if (file === undefined) throw usage('the file of the plan is missing.');
    if (more.length > 0) throw usage('plan check takes one file. Quote a path with spaces.');
    const checked = checkedPlan(context, resolve(pathNamed(context.projectDir, file)), file);
    context.answer(answer(checked), () => forReading(file, checked, context));
    return checked.ok ? 0 : 1;
  },
};

function usage(text: string): RalphError {
  return new RalphError('usage', advise(text, 'Usage', 'plan check FILE'));
}

function answer({ ok, plan, problems, choice }: CheckedPlan): PlanCheckAnswer {
  const tasks = published(plan.tasks);
  // A plan without tasks is not complete.
  const stop = tasks.length === 0 ? null : choice.stop;
  return { ok, tasks, problems: [...problems], next: choice.next?.id ?? null, stop };
}

function published(tasks: PlanFile['tasks']): PlanCheckAnswer['tasks'] {
  return tasks.map(({ id, title, status, dependsOn, scope, line }) => {
    return { id, title, status, dependsOn: [...dependsOn], scope: [...scope], line };
  });
}

function forReading(file: string, checked: CheckedPlan, { paint }: CommandContext): string {
  const problems = checked.problems.map(
    ({ line, severity, message }) =>
      `${file}:${line}: ${paint(severity === 'error' ? 'red' : 'yellow', severity)}: ${printable(message)}`,
  );
  const lines = problems.length === 0 ? [`${file} is fine.`] : problems;
  return checked.plan.tasks.length === 0 ? lines.join('\n') : [...lines, '', planTable(checked, paint)].join('\n');
}

type CheckedProblem = Omit<PlanProblem, 'rule'> & { readonly rule: string };

type CheckedPlan = ReturnType<typeof checkedPlan>;

/** Reads and checks a plan. `shown` is the path as the user gave it. Throws `task-missing`. */
function checkedPlan(context: CommandContext, path: string, shown: string) {
  const text = readTaskText(path, shown);
  const plan = readPlan(text);
  const found = frontmatterProblems(context, path, text);
  const started = found.some(({ severity }) => severity === 'error')
    ? []
    : startProblems(examineFile(context, path, true));
  const refused = started.map(({ rule, message, severity }) => ({ line: 1, taskId: null, rule, message, severity }));
  const other = plan.tasks.length === 0 ? otherLoopText(path, text, 'no plan of tasks') : null;
  // In the order of the file.
  const problems: CheckedProblem[] =
    other === null
      ? [...found, ...refused, ...plan.problems].sort((a, b) => a.line - b.line)
      : [{ line: 1, taskId: null, rule: 'no-tasks', message: other, severity: 'error' }];
  const ok = !problems.some(({ severity }) => severity === 'error');
  return { ok, plan, problems, choice: nextPlanTask(plan.tasks) };
}

function frontmatterProblems({ projectDir: dir, env }: CommandContext, path: string, text: string): CheckedProblem[] {
  const { problems, frontmatter } = checkTaskFile(path, text, undefined, { dir, env });
  const errors = problems.flatMap(({ line, rule, message, severity }) =>
    (severity === 'error' && rule !== 'plan-as-prompt') || rule === 'hidden-exit'
      ? [{ line: line ?? 1, taskId: null, rule, message, severity }]
      : [],
  );
  if (frontmatter === null || (frontmatter.validation ?? []).length > 0) return errors;
  const message = PLAN_TEXTS.nothingOffered;
  return [...errors, { line: 1, taskId: null, rule: 'no-validation', message, severity: 'warning' }];
}

function planTable({ plan: { tasks }, choice }: Pick<CheckedPlan, 'plan' | 'choice'>, paint: Paint): string {
  const passed = new Map(choice.passed.map((each) => [each.id, each]));
  const rows = tasks.map(({ id, title, status, dependsOn }) => {
    const obstacle = passed.get(id);
    const waits = obstacle !== undefined && obstacle.because !== id ? `waits for ${obstacle.because}` : '';
    const shown = status === 'open' && choice.next?.id === id ? paint('bold', 'next') : printable(waits) || status;
    const needs = dependsOn.length === 0 ? '-' : dependsOn.join(', ');
    return [printable(id), shown, printable(needs), printable(title)];
  });
  // A title that is too long for the terminal wraps in the last column.
  const head = ['TASK', 'STATE', 'DEPENDS ON', 'TITLE'].map((cell) => paint('dim', cell));
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
      return `${count} The rest needs verification by a person: ${of('manual-verify')}.`;
    default:
      return `${count} No task can start${of('blocked') === '' ? '' : `: blocked by ${of('blocked')}`}.`;
  }
}

/** Limit above that of a plan, so that a plan that is too long is still read and reported. */
const MOST_BYTES = 2 * 1024 * 1024;

/** Prints the status of a plan file; returns false if the file contains no tasks. */
export function printPlanStatus({ projectDir, answer, paint }: CommandContext, given: string): boolean {
  const path = resolve(pathNamed(projectDir, given));
  if (['RALPH.md', 'task.md'].includes(basename(path))) return false;
  const text = readRegularFile(path, MOST_BYTES);
  const plan = text === null ? null : readPlan(text);
  if (plan === null || plan.tasks.length === 0) return false;
  const { tasks, problems } = plan;
  const choice = nextPlanTask(tasks);
  const shown = relative(projectDir, path).split('\\').join('/');
  const { next, stop } = choice;
  const status: PlanStatusAnswer = {
    plan: shown,
    done: tasks.filter((task) => task.status === 'done').length,
    total: tasks.length,
    next: next === null ? null : { id: next.id, title: next.title },
    stop,
    tasks: published(tasks),
  };
  answer(status, () => {
    const errors = problems.filter(({ severity }) => severity === 'error').length;
    const text = `It has ${errors === 1 ? 'an error' : `${errors} errors`}.`;
    const wrong = show(advise(text, 'Show them', `plan check ${quoted(given)}`));
    const lines = [printable(shown), '', planTable({ plan, choice }, paint)];
    return [...lines, ...(errors === 0 ? [] : [printable(wrong)])].join('\n');
  });
  return true;
}
