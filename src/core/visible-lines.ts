export interface VisibleLine {
  /** The line without its terminator, each piece of inline code replaced by one character that no text has. */
  readonly text: string;
  /** Counted from 1. */
  readonly number: number;
}

interface Fence {
  readonly marks: string;
  /** Columns that belong to the list item the fence stands in; 0 outside a list. */
  readonly indent: number;
}

const FENCE = /^( {0,3}(?:(?:[-*+]|\d{1,9}[.)]) {1,4})*)(`{3,}|~{3,})(.*)$/s;
const INDENTED = /^(?: {4}| {0,3}\t)/;
const QUOTE = /^ {0,3}(?:(?:[-*+]|\d{1,9}[.)]) {1,4})*>/;
const BLANKED = '\uFFFC';

/**
 * The lines of a Markdown text in which a signal can count, without the empty ones: outside code fences, indented code,
 * block quotes and inline code. A fence that is never closed runs to the end of its list item or of the text, as
 * CommonMark has it.
 */
export function visibleLines(text: string): VisibleLine[] {
  const visible: VisibleLine[] = [];
  let fence: Fence | null = null;
  let number = 0;
  for (const line of text.split(/\r\n|[\n\r]/)) {
    number++;
    if (line === '') continue;
    if (fence !== null && !isOutside(line, fence)) {
      if (closes(line, fence)) fence = null;
      continue;
    }
    fence = opens(line);
    if (fence !== null || INDENTED.test(line) || QUOTE.test(line)) continue;
    visible.push({ text: blankInlineCode(line), number });
  }
  return visible;
}

function opens(line: string): Fence | null {
  const [, before = '', marks = '', info = ''] = FENCE.exec(line) ?? [];
  if (marks === '' || (marks.startsWith('`') && info.includes('`'))) return null;
  return { marks, indent: before.trim() === '' ? 0 : before.length };
}

/** A line that is indented less than the fence's list item ends the item, and the fence with it. */
function isOutside(line: string, { indent }: Fence): boolean {
  if (indent === 0) return false;
  const start = line.search(/\S/);
  return start !== -1 && start < indent && !line.slice(0, start).includes('\t');
}

function closes(line: string, { marks, indent }: Fence): boolean {
  const [, before = '', closing = '', info = ''] = FENCE.exec(line.slice(indent)) ?? [];
  return before.trim() === '' && closing.startsWith(marks) && info.trim() === '';
}

function blankInlineCode(line: string): string {
  if (!line.includes('`')) return line;
  // Text and runs of backticks by turns: a run has an odd index.
  const parts = line.split(/(`+)/);
  // Where the last run of each length is: without it a line of open runs costs quadratic time.
  const last = new Map<number, number>();
  for (let index = 1; index < parts.length; index += 2) last.set(lengthOf(parts, index), index);
  for (let open = 1; open < parts.length; open += 2) {
    const length = lengthOf(parts, open);
    // A run that nothing closes is text.
    if (last.get(length) === open) continue;
    let close = open + 2;
    while (lengthOf(parts, close) !== length) close += 2;
    parts.fill('', open, close + 1);
    parts[open] = BLANKED;
    open = close;
  }
  return parts.join('');
}

function lengthOf(parts: readonly string[], index: number): number {
  return parts[index]?.length ?? 0;
}
