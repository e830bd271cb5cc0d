import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { type LintedTask, lintPlan, type PlanProblem } from '../../engine/plan/lint-plan.ts';
import { type PlanTask, planKey } from '../../engine/plan/task-order.ts';
import { splitFrontmatter } from '../frontmatter/split-frontmatter.ts';
import { isField, readFields } from './task-fields.ts';
import { leafLines, readHead } from './task-lines.ts';
import { unreadTasks } from './unread-tasks.ts';

/** A task with all that the plan says of it. */
export interface PlanFileTask extends LintedTask {
  readonly notes: readonly string[];
  /** The list item as it stands in the plan, without its line's end. */
  readonly text: string;
  /** Where the mark in its box stands, in UTF-16 units from the beginning of the file. */
  readonly boxAt: number;
}

export interface PlanFile {
  readonly tasks: readonly PlanFileTask[];
  /** In the order of the file. */
  readonly problems: readonly PlanProblem[];
}

/** A plan of so many characters takes half a second to read. */
const MOST_PLAN_CHARACTERS = 256 * 1024;

/**
 * Only the blocks of the text count: without these the words of a title stay as they are written, and a long line costs
 * nothing.
 */
const BLOCKS_ALONE = {
  disable: {
    null: [
      ...['attention', 'autolink', 'characterEscape', 'characterReference', 'codeText', 'definition'],
      ...['hardBreakEscape', 'htmlText', 'labelEnd', 'labelStartImage', 'labelStartLink'],
    ],
  },
};

/**
 * Reads a plan: its tasks are the items with a box of the lists at the left margin, as a Markdown parser sees them, so
 * that fences, comments, quotes and nested items hold none. The frontmatter is no part of the plan. Never throws; what
 * is wrong is among the problems.
 */
export function readPlan(text: string): PlanFile {
  const { body, bodyLine } = splitFrontmatter(text);
  const begin = text.length - body.length;
  if (body.length > MOST_PLAN_CHARACTERS) {
    const message = `the plan has ${body.length} characters; at most ${MOST_PLAN_CHARACTERS} are read. Split it.`;
    return { tasks: [], problems: [{ line: bodyLine, taskId: null, rule: 'too-large', message, severity: 'error' }] };
  }
  const doubts: PlanProblem[] = [];
  const found: PlanFileTask[] = [];
  const blocks = fromMarkdown(body, { extensions: [BLOCKS_ALONE] }).children;
  for (const block of blocks) {
    if (block.type !== 'list') continue;
    for (const item of block.children) {
      const read = readItem(body, item, bodyLine);
      doubts.push(...read.doubts);
      if (read.task !== null) found.push({ ...read.task, boxAt: begin + read.task.boxAt });
    }
  }
  const tasks = resolved(found);
  for (const { line, rule, message } of unreadTasks(body, blocks, new Set(tasks.map(({ id }) => planKey(id)))))
    doubts.push({ line: line + bodyLine - 1, taskId: null, rule, message, severity: 'warning' });
  const problems = [...lintPlan(tasks), ...doubts].sort((a, b) => a.line - b.line);
  return { tasks, problems };
}

function readItem(
  body: string,
  item: Nodes,
  bodyLine: number,
): { readonly task: PlanFileTask | null; readonly doubts: readonly PlanProblem[] } {
  const [head, ...lines] = leafLines(body, item);
  const doubts: PlanProblem[] = [];
  const doubt = (line: number, rule: PlanProblem['rule'], message: string): void => {
    doubts.push({ line: line + bodyLine - 1, taskId: null, rule, message, severity: 'warning' });
  };
  const read = head === undefined || head.depth > 0 ? null : readHead(head.text);
  const inner = lines.filter(({ text, first }) => first && readHead(text)?.id != null);
  for (const { text, line } of inner) {
    const message = `"${text.slice(0, 60)}" stands inside another item and is no task of its own: put it at the left margin.`;
    doubt(line, 'nested-task', message);
  }
  if (head === undefined || read === null) return { task: null, doubts };
  if (read.id === null) {
    doubt(
      head.line,
      'no-task-id',
      'this box names no task and is passed over. A task is written "- [ ] **Task 1: Title**".',
    );
    return { task: null, doubts };
  }
  if (/\((?:blocked|manual-verify)\)\s*$/i.test(read.title)) {
    doubt(head.line, 'misplaced-annotation', 'an annotation counts only between the box and the title.');
  }
  for (const { text, line, depth, first } of read.status === 'done' ? [] : lines) {
    const message = depth <= 1 && first && !isField(text.trim()) ? strayField(text.trim()) : null;
    if (message !== null) doubt(line, 'stray-field', message);
  }
  const start = item.position?.start.offset ?? 0;
  const end = item.position?.end.offset ?? start;
  const { acceptance, notes, prose, scope, dependsOn } = readFields(lines);
  if (read.status !== 'done' && dependsOn.length === 0) {
    const message = strayDependency(read.title);
    if (message !== null) doubt(head.line, 'stray-field', message);
  }
  const { id, title, status } = read;
  const task = { id, title, status, dependsOn, scope, acceptance, notes, prose };
  return {
    task: { ...task, line: head.line + bodyLine - 1, text: body.slice(start, end), boxAt: head.at + read.boxAt },
    doubts,
  };
}

/** A dependency is named as its task names itself. */
function resolved(tasks: readonly PlanFileTask[]): PlanFileTask[] {
  const ids = new Map(tasks.map(({ id }: PlanTask) => [planKey(id), id]));
  return tasks.map((task) => ({ ...task, dependsOn: task.dependsOn.map((id) => ids.get(planKey(id)) ?? id) }));
}

/** `Files: a, b`, `**Verify:** npm test` */
const FIELD = /^(?:\*\*|__|[*_`])?([a-z][a-z -]{2,30}?)[ \t]*(?:\*\*|__|[*_`])?[ \t]*:(?:\*\*|__|[*_`])?(?:\s|$)/i;

/** What people write in place of a field that a task has, and what to write. */
const MEANT: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:commands?|verify|verification|validat(?:e|ion)|checks?|tests?|run)$/,
    'commands that have to pass stand under "validation:" in the frontmatter of the plan, for all its tasks',
  ],
  [/^(?:scop\w*|files?|paths?|touches)$/, 'what a task may change is written "Scope: "'],
  [
    /^(?:depe?nd\w*(?: \w+)?|blocked by|requires?|needs|after)$/,
    'the tasks that come first are written "Depends on: "',
  ],
  [/^(?:accept\w*(?: \w+)?|criteria|done when|definition of done)$/, 'what has to be true is written "Acceptance: "'],
];

/** What to say of a line below a task that looks like a field and is none; null for every other. */
export function strayField(text: string): string | null {
  const [, name = ''] = FIELD.exec(text) ?? [];
  const [, advice] = MEANT.find(([pattern]) => pattern.test(name.toLowerCase())) ?? [];
  return advice === undefined ? null : `"${name}:" is no field of a task and decides nothing: ${advice}.`;
}

const DEPENDENCY = /\b(?:depends? on|blocked by|requires|needs|after):? *tasks? +\S*\d[^\s,;)]*/i;

/** What to say of a title in which a dependency stands, where no line of the task names one; null for every other. */
export function strayDependency(title: string): string | null {
  const [said] = DEPENDENCY.exec(title) ?? [];
  return said === undefined
    ? null
    : `"${said}" in a title decides nothing: write "- Depends on: " with the tasks that come first on a line of its own below the task.`;
}

/** The plan's text with the box of a task ticked: one character differs. */
export function tickTask(text: string, { boxAt }: Pick<PlanFileTask, 'boxAt'>): string {
  return `${text.slice(0, boxAt)}x${text.slice(boxAt + 1)}`;
}

/** The plan's text with `(blocked)` behind the box of a task; the same text where it stands there already. */
export function blockTask(text: string, { boxAt, status }: Pick<PlanFileTask, 'boxAt' | 'status'>): string {
  if (status === 'blocked') return text;
  const behind = boxAt + 2;
  return `${text.slice(0, behind)} (blocked)${text.slice(behind)}`;
}

/** The plan's text with the box of a task open again: one character differs. */
export function untickTask(text: string, { boxAt }: Pick<PlanFileTask, 'boxAt'>): string {
  return `${text.slice(0, boxAt)} ${text.slice(boxAt + 1)}`;
}
