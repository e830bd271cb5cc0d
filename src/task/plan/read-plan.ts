import { compareItems } from '../../engine/identity/items.ts';
import { type LintedTask, lintPlan, type PlanProblem } from '../../engine/plan/lint-plan.ts';
import { type PlanTask, planKey, tasksByKey } from '../../engine/plan/task-order.ts';
import { show } from '../../state/process/program.ts';
import { LINE_END } from '../../text/characters.ts';
import { type Line, lines } from '../../text/markdown/lines.ts';
import { advise } from '../../text/message.ts';
import { splitFrontmatter } from '../frontmatter/split-frontmatter.ts';
import { isField, readFields, readHead, type TopItem, topItems } from './task-fields.ts';

export interface PlanFileTask extends LintedTask {
  readonly notes: readonly string[];
  /** Offset of the mark in its box, in UTF-16 units. */
  readonly boxAt: number;
}

export interface PlanFile {
  readonly tasks: readonly PlanFileTask[];
  readonly problems: readonly PlanProblem[];
}

/** Last result: one Stop asks several times for the tasks of the same text. */
let last: { readonly text: string; readonly plan: PlanFile } | null = null;

/** Reads a plan: tasks are the top-level list items with a box, as a Markdown parser sees them. Never throws. */
export function readPlan(text: string): PlanFile {
  if (last?.text !== text) last = { text, plan: parsed(text) };
  return last.plan;
}

function parsed(text: string): PlanFile {
  const { body, bodyLine } = splitFrontmatter(text);
  const all = [...lines(text, bodyLine, text.length - body.length)];
  const read = topItems(all).map((item) => readItem(text, item));
  const tasks = resolved(read.flatMap(({ task }) => task ?? []));
  const doubts = [
    ...read.flatMap((item) => item.doubts),
    ...unreadTasks(all, new Set(tasks.map(({ id }) => planKey(id)))),
  ];
  const boxes = doubts.filter(({ rule }) => rule === 'no-task-id');
  const [first] = boxes;
  const problems =
    tasks.length === 0 && first !== undefined
      ? [onlyBoxes(first.line, boxes.length), ...doubts.filter(({ rule }) => rule !== 'no-task-id')]
      : [...lintPlan(tasks), ...doubts];
  return { tasks, problems: problems.sort((a, b) => a.line - b.line) };
}

/** Says, once for all boxes of a file without tasks, how to work through them. */
function onlyBoxes(line: number, count: number): PlanProblem {
  const boxes = count === 1 ? '1 box that names no task' : `${count} boxes that name no task`;
  const text = `this is no plan: it has ${boxes}. Write tasks as "- [ ] **Task 1: Title**", or move the file to .ralph/NAME/task.md.`;
  const message = show(advise(text, 'Work on it as a checklist', 'run NAME'));
  return { line, taskId: null, rule: 'no-tasks', message, severity: 'error' };
}

function readItem(
  text: string,
  { start, end, lines }: TopItem,
): { readonly task: PlanFileTask | null; readonly doubts: readonly PlanProblem[] } {
  const doubts: PlanProblem[] = [];
  const doubt = (line: number, rule: PlanProblem['rule'], message: string): void => {
    doubts.push({ line, taskId: null, rule, message, severity: 'warning' });
  };
  const [head, ...below] = lines;
  const read = head?.first && head.depth === 0 ? readHead(head.text) : null;
  for (const { text, line, first } of read === null ? lines : below) {
    if (!first || readHead(text)?.id == null) continue;
    const message = `"${text.slice(0, 60)}" is inside another item, so it is not a task: move it to the left margin.`;
    doubt(line, 'nested-task', message);
  }
  if (head === undefined || read === null) return { task: null, doubts };
  const { id, title, status } = read;
  if (read.unknownMark !== null) {
    const message = `"${read.unknownMark}" is not a task marker. Write (blocked), (manual-verify) or (no-change), or rephrase it.`;
    doubts.push({ line: head.line, taskId: id, rule: 'unknown-mark', message, severity: 'error' });
  }
  if (id === null) {
    const message = 'this box names no task and is ignored. Write a task as "- [ ] **Task 1: Title**".';
    if (read.unknownMark === null) doubt(head.line, 'no-task-id', message);
    return { task: null, doubts };
  }
  for (const { text, line, depth, first } of status === 'done' ? [] : below) {
    const message = depth <= 1 && first && !isField(text) ? strayField(text) : null;
    if (message !== null) doubt(line, 'stray-field', message);
  }
  const fields = readFields(below);
  if (status !== 'done' && fields.dependsOn.length === 0) {
    const message = strayDependency(title);
    if (message !== null) doubt(head.line, 'stray-field', message);
  }
  const noChange = read.noChange && { noChange: true };
  const place = { line: head.line, text: text.slice(start, end), boxAt: head.at + 1 };
  return { task: { id, title, status, ...fields, ...noChange, ...place }, doubts };
}

/** Replaces dependencies by ids as their tasks spell them. */
function resolved(tasks: readonly PlanFileTask[]): PlanFileTask[] {
  const ids = new Map(tasks.map(({ id }: PlanTask) => [planKey(id), id]));
  return tasks.map((task) => ({ ...task, dependsOn: task.dependsOn.map((id) => ids.get(planKey(id)) ?? id) }));
}

/** Maximum length of the input of FIELD, whose backtracking may read it many times. */
const MOST_FIELD = 100;
/** Pattern for fields such as `Files: a, b` and `**Verify:** npm test`. */
const FIELD = /^(?:\*\*|__|[*_`])?([a-z][a-z -]{2,30}?)[ \t]*(?:\*\*|__|[*_`])?[ \t]*:(?:\*\*|__|[*_`])?(?:\s|$)/i;

/** Wrong field names, and what to write instead. */
const MEANT: readonly (readonly [RegExp, string])[] = [
  [
    /^(?:commands?|verify|verification|validat(?:e|ion)|checks?|tests?|run)$/,
    'commands that have to pass belong under "validation:" in the frontmatter of the plan, for all its tasks',
  ],
  [/^(?:scop\w*|files?|paths?|touches)$/, 'write what a task may change as "Scope: "'],
  [/^(?:depe?nd\w*(?: \w+)?|blocked by|requires?|needs|after)$/, 'write the tasks that come first as "Depends on: "'],
  [/^(?:accept\w*(?: \w+)?|criteria|done when|definition of done)$/, 'write what has to be true as "Acceptance: "'],
];

function strayField(text: string): string | null {
  const [, name = ''] = FIELD.exec(text.slice(0, MOST_FIELD)) ?? [];
  const [, advice] = MEANT.find(([pattern]) => pattern.test(name.toLowerCase())) ?? [];
  return advice === undefined ? null : `"${name}:" is not a task field and has no effect: ${advice}.`;
}

const DEPENDENCY = /\b(?:depends? on|blocked by|requires|needs|after):? *tasks? +\S*\d[^\s,;)]*/i;

function strayDependency(title: string): string | null {
  const [said] = DEPENDENCY.exec(title) ?? [];
  return said === undefined
    ? null
    : `"${said}" in a title has no effect: write "- Depends on: " with the tasks that come first on a separate line below the task.`;
}

export function tickTask(text: string, { boxAt }: Pick<PlanFileTask, 'boxAt'>): string {
  return `${text.slice(0, boxAt)}x${text.slice(boxAt + 1)}`;
}

export function blockTask(text: string, { boxAt, status }: Pick<PlanFileTask, 'boxAt' | 'status'>): string {
  if (status === 'blocked') return text;
  const behind = boxAt + 2;
  return `${text.slice(0, behind)} (blocked)${text.slice(behind)}`;
}

/** A plan with the loop's tasks and boxes restored, and the ids of the tasks that were put back or cleared. */
export interface HeldPlan {
  readonly text: string;
  /** Tasks that were removed before they were done. */
  readonly gone: readonly string[];
  /** Tasks that were given another title before they were done. */
  readonly renamed: readonly string[];
  /** Tasks whose box was ticked. */
  readonly ticked: readonly string[];
}

/**
 * Puts back the tasks of `before` that were not done and are now gone or retitled without their former words, and clears
 * the boxes ticked since. The user may tick manual-verify tasks at any time.
 */
export function holdPlan(before: string, now: string): HeldPlan {
  if (now === before) return { text: now, gone: [], renamed: [], ticked: [] };
  const known = readPlan(before).tasks;
  const { text: all, gone } = withMissing(before, now, known);
  const byKey = tasksByKey(known);
  const renamed = readPlan(all).tasks.filter((task) => isRenamed(byKey.get(planKey(task.id)), task));
  const whole = renamed.reduceRight((rest, task) => withHead(rest, task, byKey.get(planKey(task.id)) ?? task), all);
  const ticked = readPlan(whole).tasks.filter(({ id, status }) => {
    const was = byKey.get(planKey(id))?.status;
    return status === 'done' && was !== 'done' && was !== 'manual-verify';
  });
  const text = ticked.reduce((rest, { boxAt }) => `${rest.slice(0, boxAt)} ${rest.slice(boxAt + 1)}`, whole);
  return { text, gone, renamed: renamed.map(({ id }) => id), ticked: ticked.map(({ id }) => id) };
}

/** Returns whether an open task's title lost words; words may be added. */
function isRenamed(was: PlanFileTask | undefined, { title }: PlanFileTask): boolean {
  if (was?.status !== 'open' || was.title === title) return false;
  return compareItems([was.title], [{ text: title, paragraph: title }]).missing.length > 0;
}

/** Replaces the first line of a task, from its box on, by that of another. */
function withHead(text: string, to: PlanFileTask, from: PlanFileTask): string {
  const at = to.boxAt - 1;
  const [now = ''] = text.slice(at).split(LINE_END, 1);
  const [was = ''] = from.text.slice(from.text.indexOf('[')).split(LINE_END, 1);
  return `${text.slice(0, at)}${was}${text.slice(at + now.length)}`;
}

/**
 * Adds the missing tasks at the end. If they would not be read as tasks there, as after an open fence, `before` replaces
 * `now` as a whole.
 */
function withMissing(before: string, now: string, known: readonly PlanFileTask[]): Pick<HeldPlan, 'text' | 'gone'> {
  const missingIn = (text: string): readonly PlanFileTask[] => {
    const standing = tasksByKey(readPlan(text).tasks);
    return known.filter(({ id, status }) => status !== 'done' && !standing.has(planKey(id)));
  };
  const missing = missingIn(now);
  if (missing.length === 0) return { text: now, gone: [] };
  const whole = `${now.trimEnd()}\n\n${missing.map(({ text }) => `${text.trimEnd()}\n`).join('')}`;
  return { text: missingIn(whole).length === 0 ? whole : before, gone: missing.map(({ id }) => id) };
}

/** Pattern for marks of lists, headings, quotes and tables, including those of word processors. */
const MARK = /^[\s>|]*(?:(?:[-*+•◦▪‣·–—]|\d{1,9}[.)]|#{1,6})\s+)?/;
/** Pattern for misspelt boxes and those of other programs, but not for the text of a link. */
const BOX = /^\[\s*[^\s\]]?\s*\](?!\()\s*/;
const SYMBOL = /^[☐☑☒✓✔✅⬜]\s*/u;
/** Maximum length of the patterns' input. */
const MOST_HEAD = 200;
const MOST_SHOWN = 60;

/**
 * Finds text that looks like a task but is not one: without a valid box, in indented code, raw HTML or a quote, or after an
 * unclosed fence or comment. Ignores tasks of `known` (keys), closed fences and closed comments.
 */
function unreadTasks(all: readonly Line[], known: ReadonlySet<string>): PlanProblem[] {
  const found = all.flatMap((line): PlanProblem[] => {
    const where = placeOf(line);
    if (where === null || !looksLikeTask(line.content, known, where === '')) return [];
    // A table may list the tasks of another plan.
    const hasBox = where === '' && BOX.test(line.content.replace(MARK, '')) && !line.content.startsWith('|');
    return [unread(line.content, line.number, where, hasBox)];
  });
  return [...found, ...openFences(all)];
}

/** Returns where a line that may be taken for a task is; null if it is an example or belongs to an item. */
function placeOf({ inFence, inQuote, inHtml, indentedCode, listDepth, itemsBegun }: Line): string | null {
  if (inFence) return null;
  if (inHtml) return 'in raw HTML';
  if (inQuote || indentedCode) return listDepth > 0 ? null : inQuote ? 'in a quote' : 'in code, by its indentation,';
  return listDepth > 1 && itemsBegun > 0 ? null : '';
}

/** `hasBox`: it has a box or an invalid mark, so a plan that skips it is not done. */
function unread(text: string, line: number, where: string, hasBox: boolean): PlanProblem {
  const place = where === '' ? '' : ` stands ${where} and`;
  const skipped = hasBox ? '' : ', so it will be skipped';
  const message = `"${text.trim().slice(0, MOST_SHOWN)}"${place} is not a task of the plan${skipped}. Write a task as "- [ ] **Task 1: Title**", at the left margin.`;
  return { line, taskId: null, rule: 'unread-task', message, severity: hasBox ? 'error' : 'warning' };
}

function looksLikeTask(line: string, known: ReadonlySet<string>, maybeWithoutBox: boolean): boolean {
  const text = line.slice(0, MOST_HEAD).replace(MARK, '').trimEnd();
  const bare = text.replace(BOX, '').replace(SYMBOL, '');
  const id = readHead(`[ ] ${bare}`)?.id ?? null;
  if (id === null || known.has(planKey(id))) return false;
  return BOX.test(text) || (maybeWithoutBox && /^\W*task\s/i.test(bare) && /\d/.test(id));
}

function openFences(all: readonly Line[]): PlanProblem[] {
  const found: PlanProblem[] = [];
  let begin: Line | null = null;
  let last = 0;
  const end = (): void => {
    const [marks] = /^(?:`+|~+)/.exec(begin?.content ?? '') ?? [];
    if (begin === null || marks === undefined) return;
    const message = `this code fence is never closed, so the text below it, down to line ${last}, is ignored. Close it with ${marks}.`;
    found.push({ line: begin.number, taskId: null, rule: 'open-fence', message, severity: 'warning' });
  };
  for (const line of all) {
    if (line.fence !== 'inside') {
      if (line.fence !== 'closes') end();
      begin = line.fence === 'opens' ? line : null;
    }
    last = line.number;
  }
  end();
  return found;
}
