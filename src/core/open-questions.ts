import { LINE_END } from './line-end.ts';
import { withoutComments } from './plain-lines.ts';
import { stepFence } from './step-fence.ts';

/** An item of a list that stands open under a P0 or P1 heading. */
export interface OpenQuestion {
  /** The innermost section that it stands in; `P0` for a heading that names both. */
  readonly section: 'P0' | 'P1';
  /** Counted from 1. */
  readonly line: number;
  readonly text: string;
}

interface Section {
  readonly name: 'P0' | 'P1';
  readonly level: number;
}

/** A list item that the next lines may belong to. */
interface Item {
  /** The column of its text: what is indented less is outside. */
  readonly content: number;
  /** It is checked, or a note of one that is: plain items in it are notes. */
  readonly done: boolean;
}

interface Reader {
  sections: Section[];
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
  pending: { readonly line: number; readonly content: number } | null;
  readonly found: OpenQuestion[];
}

const TASK = /^\[([ xX])\](?:[ \t]+|$)/;
const RULE = /^(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const SECTION = /^[^\p{L}\p{N}]*P([01])(?:\s*\/\s*P([01]))?(?![\p{L}\p{N}])/iu;

/**
 * What is still open in an OPEN_QUESTIONS.md: under a heading whose first word is P0 or P1, until the next heading of the
 * same or a higher level, every list item with a text that is neither a checked task nor a note under one. Prose, code
 * fences, comments and block quotes do not count. Lists nest as CommonMark has them; an item that is indented like code
 * counts all the same. Takes linear time, and never throws.
 */
export function openQuestions(text: string): OpenQuestion[] {
  const reader: Reader = {
    sections: [],
    items: [],
    fence: null,
    comment: null,
    continues: null,
    paragraph: '',
    pending: null,
    found: [],
  };
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(LINE_END)
    .entries())
    readLine(reader, line, index + 1);
  return reader.found;
}

function readLine(reader: Reader, raw: string, number: number): void {
  const start = measure(raw, 0);
  if (start.text === '') {
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
    const { fence: mark } = stepFence(reader.fence.mark, start.text);
    reader.fence = mark === null ? null : reader.fence;
    return;
  }
  const shown = withoutComments(start.text, reader.comment !== null);
  const { column, text } = measure(shown.text, start.column);
  const depth = depthAt(reader.items, column);
  const content = reader.items[depth - 1]?.content ?? 0;
  reader.comment = shown.open ? (reader.comment ?? { content }) : null;
  if (text === '') settle(reader, depth);
  else if (column - content > 3 || !readBlock(reader, text, depth, content)) {
    if (!readItem(reader, { column, text }, depth, number)) readProse(reader, { column, text }, depth);
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
  if (underlined) openSection(reader, reader.paragraph, text.startsWith('=') ? 1 : 2);
  else if (hashes !== undefined) openSection(reader, title, hashes.length);
  else if (!fence.inside && !text.startsWith('>') && !RULE.test(text)) return false;
  settle(reader, depth);
  if (fence.fence !== null) reader.fence = { mark: fence.fence, content };
  if (text.startsWith('>')) reader.continues = 'quote';
  return true;
}

/** A heading ends the sections of its own level and below, and opens one if it says so. */
function openSection(reader: Reader, title: string, level: number): void {
  reader.sections = reader.sections.filter((section) => section.level < level);
  const [, first, second] = SECTION.exec(title.replace(/[*_]/g, '')) ?? [];
  if (first === undefined) return;
  reader.sections.push({ name: first === '0' || second === '0' ? 'P0' : 'P1', level });
}

/** Reads a list item, or several that begin on one line; false where the line is none. */
function readItem(reader: Reader, line: Measured, depth: number, number: number): boolean {
  const [marker] = /^(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/.exec(line.text) ?? [];
  if (marker === undefined) return false;
  // In the middle of a paragraph these are its words: a bare mark, or a number that happens to begin the line.
  if (reader.continues === 'paragraph' && (line.text === marker || (/^\d/.test(marker) && !/^1[.)]/.test(marker))))
    return false;
  settle(reader, depth);
  const done = reader.items.at(-1)?.done ?? false;
  const { text: whole, columns } = peel(line);
  for (const content of columns) reader.items.push({ content, done });
  const [box, mark = ''] = TASK.exec(whole) ?? [];
  const checked = mark !== '' && mark !== ' ';
  const content = columns.at(-1) ?? 0;
  if (box !== undefined) reader.items[reader.items.length - 1] = { content, done: checked };
  const shown = withoutComments(whole.slice(box?.length ?? 0), false);
  const text = shown.text.trim();
  if (shown.open) reader.comment = { content };
  const { fence: fenceMark } = stepFence(null, text);
  if (fenceMark !== null) reader.fence = { mark: fenceMark, content };
  reader.continues = text === '' ? null : 'item';
  const counts = box === undefined ? !done : !checked;
  if (counts && text !== '') add(reader, number, text);
  else if (counts) reader.pending = { line: number, content };
  return true;
}

const MARKERS = /(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$)/y;

/** The text of an item, and the content column of each item that begins on its line: `- 1. text` are two. */
function peel({ column, text }: Measured): { text: string; columns: number[] } {
  const columns: number[] = [];
  let at = 0;
  let begin = column;
  for (;;) {
    MARKERS.lastIndex = at;
    const marker = MARKERS.exec(text)?.[0];
    if (marker === undefined) return { text: text.slice(at), columns };
    const after = at + marker.length;
    let next = after;
    let to = begin + marker.length;
    for (; text[next] === ' ' || text[next] === '\t'; next++) to += text[next] === '\t' ? 4 - (to % 4) : 1;
    const beside = to - begin - marker.length;
    // Nothing, or as much space as makes code: the item's content begins one column after its mark.
    const isCode = next === text.length || beside > 4;
    columns.push(isCode ? begin + marker.length + 1 : to);
    if (isCode) return { text: text.slice(next), columns };
    at = next;
    begin = to;
  }
}

function readProse(reader: Reader, line: Measured, depth: number): void {
  const { pending } = reader;
  if (pending !== null && line.column >= pending.content) add(reader, pending.line, line.text);
  if (reader.continues !== null) return;
  settle(reader, depth);
  reader.continues = reader.items.length > 0 ? 'item' : line.column > 3 ? null : 'paragraph';
  reader.paragraph = line.text;
}

function add({ sections, found }: Reader, line: number, text: string): void {
  const section = sections.at(-1)?.name;
  if (section !== undefined) found.push({ section, line, text });
}
