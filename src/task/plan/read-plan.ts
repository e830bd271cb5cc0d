import type { Nodes } from 'mdast';
import { fromMarkdown } from 'mdast-util-from-markdown';
import { type LintedTask, lintPlan, type PlanProblem } from '../../core/lint-plan.ts';
import { type PlanTask, planKey } from '../../core/plan-task.ts';
import { splitFrontmatter } from '../split-frontmatter.ts';
import { leafLines } from './leaf-lines.ts';
import { strayDependency, strayField } from './stray-field.ts';
import { isField, readFields } from './task-fields.ts';
import { readHead } from './task-head.ts';
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
