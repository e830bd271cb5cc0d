import { type PlanTask, planKey, tasksByKey } from './task-order.ts';

/** What the lint looks at beside the choice of a task. */
export interface LintedTask extends PlanTask {
  readonly acceptance: readonly string[];
  /** What the task says besides title, acceptance, scope and dependencies; each paragraph and list item on a line. */
  readonly prose: string;
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
  | 'open-fence'
  | 'too-large'
  | 'too-deep';

export interface PlanProblem {
  /** Counted from 1 in the whole file. */
  readonly line: number;
  readonly taskId: string | null;
  readonly rule: PlanRule;
  readonly message: string;
  readonly severity: 'error' | 'warning';
}

/** Over these a task is too big for one iteration. */
const MOST_SENTENCES = 3;
const MOST_CHARACTERS = 600;
const MOST_SCOPES = 20;
/** Prose, or a word that no folder is called by. */
const WORDS = /\s|^(?:all|any|anything|everything|everywhere|various|tbd|todo|\?+)$/i;
/** Paths that lead out of the project, links, addresses, and paths with numbers of lines. */
const NO_PATH = /^~|^[a-z]:[\\/]|(?:^|[\\/])\.\.(?:[\\/]|$)|\]\(|:\/\/|:\d+(?:[-:,]\d+)*$/i;

/** Everything that is wrong with the tasks of a plan, in the order of the file. What is done is not asked for more. */
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
    return [error(task, 'duplicate-id', `${task.id} is there twice: on line ${before.line}, too. Give it another id.`)];
  });
}

function unknownDependencies(tasks: readonly LintedTask[]): PlanProblem[] {
  const known = new Set(tasks.map(({ id }) => planKey(id)));
  return tasks.flatMap((task) =>
    task.dependsOn
      .filter((id) => !known.has(planKey(id)))
      .map((id) => error(task, 'unknown-dependency', `${task.id} depends on "${id}", which is no task of this plan.`)),
  );
}

/** Each circle once, from the first of its tasks in the plan. */
function cycles(tasks: readonly LintedTask[]): PlanProblem[] {
  const byKey = tasksByKey(tasks);
  const state = new Map<string, 'open' | 'closed'>();
  const found: PlanProblem[] = [];
  for (const start of tasks) {
    // By hand and not by recursion: a chain may be as long as the plan.
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
      if (needed === undefined) continue; // told as an unknown dependency
      if (state.get(planKey(needed.id)) === 'open') {
        const from = path.findIndex(({ task }) => task === needed);
        const circle = [...path.slice(from).map(({ task }) => task.id), needed.id].join(' → ');
        const message = `these tasks wait for each other: ${circle}. Take one of the dependencies out.`;
        found.push(error(needed, 'cyclic-dependency', message));
      } else enter(needed);
    }
  }
  return found;
}

function incomplete(task: LintedTask): PlanProblem[] {
  const found: PlanProblem[] = [];
  if (task.acceptance.length === 0) {
    const message = `${task.id} has no acceptance: it does not say when it is done. Add "- Acceptance:" with a list below it.`;
    found.push(error(task, 'missing-acceptance', message));
  }
  if (task.scope.length === 0 && task.status !== 'manual-verify') {
    const message = `${task.id} has no scope: it may change every file. Add "- Scope:" with paths.`;
    found.push(warning(task, 'missing-scope', message));
  }
  const vague = task.scope.filter((entry) => WORDS.test(entry));
  if (vague.length > 0) {
    const message = `the scope of ${task.id} has words where a path is meant: ${vague.map((entry) => `"${entry}"`).join(', ')}. Put each path into backticks.`;
    found.push(warning(task, 'vague-scope', message));
  }
  const strange = task.scope.filter((entry) => !WORDS.test(entry) && NO_PATH.test(entry));
  if (strange.length > 0) {
    const message = `the scope of ${task.id} names what is no path within the project: ${strange.map((entry) => `"${entry}"`).join(', ')}. Write paths from the project's folder, such as "src/a.ts".`;
    found.push(warning(task, 'vague-scope', message));
  }
  const sizes = oversize(task);
  if (sizes.length > 0) {
    const message = `${task.id} is probably too big for one iteration (${sizes.join(', ')}): split it.`;
    found.push(warning(task, 'oversized-task', message));
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

/** Every plan is read in a new process, and V8 takes a quarter of a millisecond to compile a Unicode class. */
function hasWord(text: string): boolean {
  return /[a-z\d]/i.test(text) || (/[\u0080-\uffff]/.test(text) && /[\p{L}\p{N}]/u.test(text));
}

function error(task: PlanTask, rule: PlanRule, message: string): PlanProblem {
  return { line: task.line, taskId: task.id, rule, message, severity: 'error' };
}

function warning(task: PlanTask, rule: PlanRule, message: string): PlanProblem {
  return { line: task.line, taskId: task.id, rule, message, severity: 'warning' };
}
