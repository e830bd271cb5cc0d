import { hasWord } from '../../text/characters.ts';
import { type PlanTask, planKey, tasksByKey } from './task-order.ts';

/** Task with the other parts that the lint examines. */
export interface LintedTask extends PlanTask {
  readonly acceptance: readonly string[];
  /** Text of the task except title, acceptance, scope and dependencies, with one line per paragraph and list item. */
  readonly prose: string;
  /** List item without its line end. */
  readonly text: string;
}

export type PlanRule =
  | 'no-tasks'
  | 'duplicate-id'
  | 'unknown-dependency'
  | 'cyclic-dependency'
  | 'missing-acceptance'
  | 'missing-scope'
  | 'vague-scope'
  | 'oversized-task'
  | 'no-task-id'
  | 'nested-task'
  | 'unknown-mark'
  | 'stray-field'
  | 'unread-task'
  | 'open-fence';

export interface PlanProblem {
  /** Line in the whole file, from 1. */
  readonly line: number;
  readonly taskId: string | null;
  readonly rule: PlanRule;
  readonly message: string;
  readonly severity: 'error' | 'warning';
}

/** Limits above which a task is too big for one iteration. */
const MOST_SENTENCES = 3;
const MOST_CHARACTERS = 600;
const MOST_SCOPES = 20;
/** Pattern for a word that names no folder. */
const WORDS = /^(?:all|any|anything|everything|everywhere|various|tbd|todo|\?+)$/i;
/** Pattern for paths outside the project, links, addresses, and paths with line numbers. */
const NO_PATH = /^~|^[a-z]:[\\/]|(?:^|[\\/])\.\.(?:[\\/]|$)|\]\(|:\/\/|:\d+(?:[-:,]\d+)*$/i;

/** Returns all problems of a plan's tasks, in the order of the file. A done task needs no more fields. */
export function lintPlan(tasks: readonly LintedTask[]): PlanProblem[] {
  const problems = [
    ...duplicates(tasks),
    ...unknownDependencies(tasks),
    ...cycles(tasks),
    ...tasks.filter(({ status }) => status !== 'done').flatMap(incomplete),
  ];
  if (tasks.length === 0) {
    const message = 'the plan has no task. Write one as "- [ ] **Task 1: Title**", at the left margin.';
    problems.push({ line: 1, taskId: null, rule: 'no-tasks', message, severity: 'error' });
  }
  return problems.sort((a, b) => a.line - b.line);
}

function duplicates(tasks: readonly LintedTask[]): PlanProblem[] {
  const first = new Map<string, LintedTask>();
  return tasks.flatMap((task): PlanProblem[] => {
    const before = first.get(planKey(task.id));
    if (before === undefined) {
      first.set(planKey(task.id), task);
      return [];
    }
    return [problem(task, 'duplicate-id', `${task.id} is also defined on line ${before.line}. Give it another id.`)];
  });
}

function unknownDependencies(tasks: readonly LintedTask[]): PlanProblem[] {
  const known = new Set(tasks.map(({ id }) => planKey(id)));
  return tasks.flatMap((task) =>
    task.dependsOn
      .filter((id) => !known.has(planKey(id)))
      .map((id) => problem(task, 'unknown-dependency', `${task.id} depends on "${id}", which is not in this plan.`)),
  );
}

/** Reports each cycle once, from its first task in the plan. */
function cycles(tasks: readonly LintedTask[]): PlanProblem[] {
  const byKey = tasksByKey(tasks);
  const state = new Map<string, 'open' | 'closed'>();
  const found: PlanProblem[] = [];
  for (const start of tasks) {
    // Iterative, not recursive: a chain may be as long as the plan.
    const path: { task: LintedTask; rest: string[] }[] = [];
    const enter = (task: LintedTask): void => {
      if (state.has(planKey(task.id))) return;
      state.set(planKey(task.id), 'open');
      path.push({ task, rest: [...task.dependsOn] });
    };
    enter(start);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const id = top.rest.shift();
      if (id === undefined) {
        state.set(planKey(top.task.id), 'closed');
        path.pop();
        continue;
      }
      const needed = byKey.get(planKey(id));
      if (needed === undefined) continue; // reported as an unknown dependency
      if (state.get(planKey(needed.id)) === 'open') {
        const from = path.findIndex(({ task }) => task === needed);
        const circle = [...path.slice(from).map(({ task }) => task.id), needed.id].join(' → ');
        const message = `these tasks wait for each other: ${circle}. Remove one of the dependencies.`;
        found.push(problem(needed, 'cyclic-dependency', message));
      } else enter(needed);
    }
  }
  return found;
}

function incomplete(task: LintedTask): PlanProblem[] {
  const found: PlanProblem[] = [];
  if (task.acceptance.length === 0) {
    const message = `${task.id} has no acceptance: it does not say when it is done. Add "- Acceptance:" with a list below it.`;
    found.push(problem(task, 'missing-acceptance', message));
  }
  if (task.scope.length === 0 && task.status !== 'manual-verify') {
    const message = `${task.id} has no scope: it may change every file. Add "- Scope:" with paths.`;
    found.push(problem(task, 'missing-scope', message, 'warning'));
  }
  const isProse = (entry: string): boolean => /\s/.test(entry) && !task.text.includes(`\`${entry}\``);
  const vague = task.scope.filter((entry) => WORDS.test(entry) || NO_PATH.test(entry) || isProse(entry));
  if (vague.length > 0) {
    const message = `the scope of ${task.id} has entries that are not paths in the project: ${vague.map((entry) => `"${entry}"`).join(', ')}. Write each in backticks, relative to the project, such as "src/a.ts".`;
    found.push(problem(task, 'vague-scope', message, 'warning'));
  }
  const sizes = oversize(task);
  if (sizes.length > 0) {
    const message = `${task.id} is probably too big for one iteration (${sizes.join(', ')}): split it.`;
    found.push(problem(task, 'oversized-task', message, 'warning'));
  }
  return found;
}

function oversize({ prose, scope }: LintedTask): string[] {
  const sentences = prose
    .replace(/\b(?:e\.g|i\.e|etc|vs|cf)\./gi, '')
    .split(/[.!?]+(?=\s|$)|\n/)
    .filter(hasWord).length;
  return [
    ...(sentences > MOST_SENTENCES ? [`${sentences} sentences besides the acceptance, at most ${MOST_SENTENCES}`] : []),
    ...(prose.length > MOST_CHARACTERS ? [`${prose.length} characters, at most ${MOST_CHARACTERS}`] : []),
    ...(scope.length > MOST_SCOPES ? [`${scope.length} scope entries, at most ${MOST_SCOPES}`] : []),
  ];
}

function problem(
  { line, id }: PlanTask,
  rule: PlanRule,
  message: string,
  severity: PlanProblem['severity'] = 'error',
): PlanProblem {
  return { line, taskId: id, rule, message, severity };
}
