import { LINE_END } from '../characters.ts';

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
  for (const line of text.split(LINE_END)) {
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
  // Text and runs of backticks by turns.
  const parts = line.split(/(`+)/);
  // A run that no later one of its length closes is text. To look for it each time would cost quadratic time.
  const last = new Map(parts.map((part, index) => [part, index]));
  let shown = '';
  let hidden = -1;
  for (const [index, part] of parts.entries()) {
    if (index <= hidden) continue;
    const opens = part.startsWith('`') && last.get(part) !== index;
    if (opens) hidden = parts.indexOf(part, index + 1);
    shown += opens ? BLANKED : part;
  }
  return shown;
}
