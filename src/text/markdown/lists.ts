import { firstWordAt } from '../characters.ts';
import { type Line, lines } from './lines.ts';

export interface ListItem {
  readonly line: number;
  /** First line of the item, without its box; never empty. */
  readonly text: string;
  /** The whole first paragraph of the item, on one line. */
  readonly paragraph: string;
  /** True if its box has an x; false for a box with any other mark, null without a box. */
  readonly checked: boolean | null;
  /** True if it is nested in a checked item. */
  readonly inDone: boolean;
  /** True if it is inside another item. */
  readonly nested: boolean;
  /** True if it is indented like code, which is not a list item in Markdown. */
  readonly inCode: boolean;
}

interface ListVisitor {
  readonly item: (item: ListItem) => void;
  readonly heading?: (title: string, level: number, line: number) => void;
}

/** Pattern for a box with one mark; `*` after it marks an optional item. */
const BOX = /^\[([^\\\]\r\n])\uFE0F?\]\*?(?:[ \t]+|$)/u;
const ITEM_IN_CODE = /^(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)$/s;

interface OpenItem {
  readonly item: Omit<ListItem, 'paragraph'>;
  readonly depth: number;
  /** Lines of its first paragraph so far. */
  readonly said: string[];
}

/** Visits the list items and headings of a Markdown text outside fences, comments and quotes; skips empty items. */
export function readLists(text: string, visitor: ListVisitor): void {
  /** True for each open item that is checked, or nested in a checked one. */
  const done: boolean[] = [];
  /** Open items that are indented like code, with their columns. */
  let inCode: { readonly column: number; readonly done: boolean }[] = [];
  /** Item whose first paragraph may continue on the next line. */
  let open: OpenItem | null = null;
  for (const line of lines(text)) {
    const { column, content, heading, indentedCode, itemsBegun, listDepth } = line;
    if (line.isProse && open !== null && listDepth >= open.depth) open.said.push(content);
    else {
      visit(open, visitor);
      open = null;
    }
    if (heading !== null) visitor.heading?.(heading.title, heading.level, line.number);
    done.length = Math.min(done.length, listDepth - itemsBegun);
    if (!indentedCode && content !== '') inCode = [];
    inCode = inCode.filter((item) => item.column < column);
    const own = itemsBegun > 0 ? content : indentedCode ? ITEM_IN_CODE.exec(content)?.[1] : undefined;
    if (own === undefined) continue;
    const item = readItem(line, own, inCode.at(-1)?.done ?? done.at(-1) ?? false);
    open = { item, depth: listDepth, said: item.text === '' ? [] : [item.text] };
    const isDone = item.checked ?? item.inDone;
    if (itemsBegun === 0) inCode.push({ column, done: isDone });
    for (let depth = 1; depth < itemsBegun; depth++) done.push(item.inDone);
    if (itemsBegun > 0) done.push(isDone);
  }
  visit(open, visitor);
}

function visit(open: OpenItem | null, { item }: ListVisitor): void {
  const [text] = open?.said ?? [];
  if (open !== null && text !== undefined) item({ ...open.item, text, paragraph: open.said.join(' ') });
}

function readItem(
  { number, indentedCode, listDepth, itemsBegun }: Line,
  content: string,
  inDone: boolean,
): OpenItem['item'] {
  const [box, mark = ''] = BOX.exec(content) ?? [];
  const checked = box === undefined ? null : /^x$/i.test(mark);
  const nested = listDepth > itemsBegun;
  return { line: number, text: content.slice(box?.length ?? 0).trim(), checked, inDone, nested, inCode: indentedCode };
}

/**
 * Returns the lines that look like task items but are not: `[]`, `[ x ]`, no blank after the box, no list mark before it, a
 * box in emphasis or in a table, or a box character.
 */
export function unreadBoxes(text: string): { readonly line: number; readonly text: string }[] {
  // Pattern for what a reader takes for a box at the beginning of an item or a cell, and of any other line.
  const box = /[*_~]{0,3}(?:\\?\[[ \t]*(?:[xX_]|[^\w\s[\]\\])?\uFE0F?[ \t]*\\?\](?![([])|[☐☑☒])/u.source;
  const atItem = new RegExp(`^${box}`, 'u');
  const inCell = new RegExp(`[|][ \\t]*${box}`, 'u');
  const mark = /(?:[-*+•‣◦▪·–—]|(?:\d{1,9}|[a-zA-Z])[.)])[ \t]*/u.source;
  const alone = /[*_~]{0,3}(?:\\?\[[ \t]*[xX]?[ \t]*\\?\](?![([:])|[☐☑☒])/u.source;
  const elsewhere = new RegExp(`^(?:${mark}${box}|${alone})`, 'u');
  const found: { line: number; text: string }[] = [];
  for (const { number, content, heading, itemsBegun, isProse, indentedCode } of lines(text)) {
    const said = heading?.isUnderline === false ? heading.title : content;
    const looks =
      itemsBegun > 0
        ? atItem.test(said) && !indentedCode && !BOX.test(said)
        : (isProse || heading !== null) && (elsewhere.test(said) || (said.startsWith('|') && inCell.test(said)));
    if (looks) found.push({ line: number, text: said });
  }
  return found;
}

const NOUN = 'findings?|issues?|problems?|bugs?|defects?|vulnerabilit(?:y|ies)|questions?';
const CLOSED = 'fixed|resolved|closed|answered|done';

/** Returns whether a line of a list of findings or questions says that none is open: `None.`, `No open findings`. */
export function saysNone(line: string): boolean {
  const said = line.slice(firstWordAt(line));
  if (!/^(?:n|there|zero|0|all)/i.test(said)) return false;
  const none = [
    String.raw`^(?:none\b|n/a\b|nothing\b`,
    String.raw`(?:there (?:are|is|were) )?(?:no|zero|0)\b[^.]{0,60}\b(?:${NOUN})\b`,
    String.raw`all\b[^.]{0,60}\b(?:${CLOSED})\b)`,
  ];
  return new RegExp(none.join('|'), 'i').test(said);
}

export interface ChecklistItem {
  /** Line in the given text, from 1. */
  readonly line: number;
  /** First line of the item, without the box. */
  readonly text: string;
  readonly paragraph: string;
  readonly checked: boolean;
}

/** Progress of a checklist: `done` of `total` items are checked. */
export interface ChecklistCount {
  readonly done: number;
  readonly total: number;
}

/**
 * Returns the task items of a Markdown text in order, at any depth: those that GitHub shows as boxes and those with another
 * mark, which are open; no examples in block quotes or comments. Takes linear time and never throws.
 */
export function checklistItems(text: string): ChecklistItem[] {
  const items: ChecklistItem[] = [];
  readLists(text, {
    item: ({ line, checked, inCode, text: said, paragraph }) => {
      if (checked !== null && !inCode) items.push({ line, text: said, paragraph, checked });
    },
  });
  return items;
}

export function countChecklist(items: readonly ChecklistItem[]): ChecklistCount {
  return { done: items.filter(({ checked }) => checked).length, total: items.length };
}
