import { LINE_END } from '../characters.ts';
import { stepFence, withoutComments } from './lines.ts';

/** An item of a list, as it is met. */
export interface ListItem {
  /** Counted from 1. */
  readonly line: number;
  /** Never empty: an item without a text is none. */
  readonly text: string;
  /** Of a task item, whether its box is checked; null for a plain item. */
  readonly checked: boolean | null;
  /** It stands in a checked item. */
  readonly inDone: boolean;
}

/** What a text shows, in its order. */
export interface ListVisitor {
  readonly item: (item: ListItem) => void;
  readonly heading?: (title: string, level: number) => void;
  /** Whether an item that is indented like code is one all the same. */
  readonly inCode: boolean;
}

/** A list item that the next lines may belong to. */
interface Item {
  /** The column of its text: what is indented less is outside. */
  readonly content: number;
  /** It is checked, or stands in one that is. */
  readonly done: boolean;
}

interface Reader {
  readonly visitor: ListVisitor;
  /** From the outermost to the innermost. */
  readonly items: Item[];
  /** An open fence or comment with the content column of the item that it stands in, and ends with. */
  fence: { readonly mark: string; readonly content: number } | null;
  comment: { readonly content: number } | null;
  /** What the line before left open, so that a line of prose belongs to it however it is indented. */
  continues: 'item' | 'quote' | 'paragraph' | null;
  /** The first line of an open paragraph outside lists: a setext heading's text, if its underline follows. */
  paragraph: string;
  /** An item without a text yet: the next line may give it one. */
  pending: (Omit<ListItem, 'text'> & { readonly content: number }) | null;
}

const TASK = /^\[([ \txX])\](?:[ \t]+|$)/;
const RULE = /^(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;

/**
 * Shows a visitor the list items of a Markdown text, and its headings, outside code fences, comments and block quotes.
 * Lists nest as CommonMark has them. Takes linear time, and never throws.
 */
export function readLists(text: string, visitor: ListVisitor): void {
  const reader: Reader = {
    visitor,
    items: [],
    fence: null,
    comment: null,
    continues: null,
    paragraph: '',
    pending: null,
  };
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(LINE_END)
    .entries())
    readLine(reader, line, index + 1);
}

function readLine(reader: Reader, raw: string, number: number): void {
  const start = measure(raw, 0);
  if (start.text === '') {
    // An item that begins with a blank line ends with it.
    if (reader.pending?.checked === null) reader.items.pop();
    reader.continues = null;
    reader.pending = null;
    return;
  }
  // What is indented less than an item ends the item, and what is open in it.
  if (start.column < ((reader.fence ?? reader.comment)?.content ?? 0)) {
    reader.fence = null;
    reader.comment = null;
  }
  if (reader.fence !== null) {
    const isDeep = start.column - reader.fence.content > 3;
    if (!isDeep && stepFence(reader.fence.mark, start.text).fence === null) reader.fence = null;
    return;
  }
  const shown = withoutComments(start.text, reader.comment !== null);
  const { column, text } = measure(shown.text, start.column);
  const depth = depthAt(reader.items, column);
  const content = reader.items[depth - 1]?.content ?? 0;
  reader.comment = shown.open ? (reader.comment ?? { content }) : null;
  const isDeep = column - content > 3;
  if (text === '' || (isDeep && reader.continues === null && !reader.visitor.inCode)) settle(reader, depth);
  else if (isDeep || !readBlock(reader, text, depth, content)) {
    const mayBegin = !isDeep || reader.visitor.inCode;
    if (!mayBegin || !readItem(reader, { column, text }, depth, number)) readProse(reader, { column, text }, depth);
  }
}

interface Measured {
  /** The column at which the text begins, tabs to every fourth. */
  readonly column: number;
  /** Without white space around it. */
  readonly text: string;
}

function measure(line: string, from: number): Measured {
  const text = line.trim();
  let column = from;
  for (const character of line.slice(0, line.length - line.trimStart().length))
    column += character === '\t' ? 4 - (column % 4) : 1;
  return { column, text };
}

/** How many of the open items a line belongs to that begins in this column. */
function depthAt(items: readonly Item[], column: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.content ?? 0) <= column) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The line is no continuation: items that it does not belong to are over. */
function settle(reader: Reader, depth: number): void {
  reader.items.length = depth;
  reader.continues = null;
  reader.pending = null;
}

/** Reads a heading, a rule, a quote or the beginning of a fence; false where the line is none. */
function readBlock(reader: Reader, text: string, depth: number, content: number): boolean {
  const [, hashes, title = ''] = /^(#{1,6})(?:[ \t]+(.*))?$/s.exec(text) ?? [];
  const underlined = reader.continues === 'paragraph' && /^(?:=+|-+)$/.test(text);
  const fence = stepFence(null, text);
  if (underlined) reader.visitor.heading?.(reader.paragraph, text.startsWith('=') ? 1 : 2);
  else if (hashes !== undefined) reader.visitor.heading?.(title, hashes.length);
  else if (!fence.inside && !text.startsWith('>') && !RULE.test(text)) return false;
  settle(reader, depth);
  if (fence.fence !== null) reader.fence = { mark: fence.fence, content };
  if (text.startsWith('>')) reader.continues = 'quote';
  return true;
}

/** Reads a list item, or several that begin on one line; false where the line is none. */
function readItem(reader: Reader, line: Measured, depth: number, number: number): boolean {
  const [marker] = /^(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/.exec(line.text) ?? [];
  if (marker === undefined) return false;
  // In the middle of a paragraph these are its words: a bare mark, or a number that happens to begin the line.
  if (inParagraph(reader, depth) && (line.text === marker || (/^\d/.test(marker) && !/^1[.)]/.test(marker))))
    return false;
  settle(reader, depth);
  const done = reader.items.at(-1)?.done ?? false;
  const { text: whole, columns, isCode } = peel(line);
  for (const content of columns) reader.items.push({ content, done });
  if (isCode && !reader.visitor.inCode) return true;
  const [box, mark = ''] = TASK.exec(whole) ?? [];
  const checked = mark.trim() !== '';
  const content = columns.at(-1) ?? 0;
  if (box !== undefined) reader.items[reader.items.length - 1] = { content, done: checked };
  const shown = withoutComments(whole.slice(box?.length ?? 0), false);
  const text = shown.text.trim();
  if (shown.open) reader.comment = { content };
  // Behind a box even a fence is text.
  const fenceMark = box === undefined ? stepFence(null, text).fence : null;
  if (fenceMark !== null) reader.fence = { mark: fenceMark, content };
  // A box alone is the first line of a paragraph that the next one may go on with.
  reader.continues = text === '' && (box === undefined || reader.visitor.inCode) ? null : 'item';
  const item = { line: number, checked: box === undefined ? null : checked, inDone: done };
  if (text === '') reader.pending = { ...item, content };
  else reader.visitor.item({ ...item, text });
  return true;
}

/** Whether a line of this depth goes on with an open paragraph: with one in a list only where it is in that item. */
function inParagraph({ continues, items, visitor }: Reader, depth: number): boolean {
  return continues === 'paragraph' || (continues === 'item' && depth === items.length && !visitor.inCode);
}

const MARKERS = /(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/y;

interface Peeled {
  readonly text: string;
  /** The content column of each item that begins on the line: `- 1. text` are two. */
  readonly columns: number[];
  /** So much space stands before the text that it is code. */
  readonly isCode: boolean;
}

function peel({ column, text }: Measured): Peeled {
  const columns: number[] = [];
  let at = 0;
  let begin = column;
  for (;;) {
    MARKERS.lastIndex = at;
    const marker = MARKERS.exec(text)?.[0];
    if (marker === undefined) return { text: text.slice(at), columns, isCode: false };
    const after = at + marker.length;
    let next = after;
    let to = begin + marker.length;
    for (; text[next] === ' ' || text[next] === '\t'; next++) to += text[next] === '\t' ? 4 - (to % 4) : 1;
    const beside = to - begin - marker.length;
    // Nothing, or as much space as makes code: the item's content begins one column after its mark.
    const isEmpty = next === text.length;
    const isCode = !isEmpty && beside > 4;
    columns.push(isEmpty || isCode ? begin + marker.length + 1 : to);
    if (isEmpty || isCode) return { text: text.slice(next), columns, isCode };
    at = next;
    begin = to;
  }
}

function readProse(reader: Reader, line: Measured, depth: number): void {
  if (reader.pending !== null && (line.column >= reader.pending.content || reader.continues === 'item')) {
    const { content: _, ...item } = reader.pending;
    reader.visitor.item({ ...item, text: line.text });
    reader.pending = null;
  }
  if (reader.continues !== null) return;
  settle(reader, depth);
  reader.continues = reader.items.length > 0 ? 'item' : line.column > 3 ? null : 'paragraph';
  reader.paragraph = line.text;
}
