import type { Paint } from '../format.ts';
import { wrap, wrapText } from '../write-text.ts';
import { type Frame, frameOf, type Size } from './frame.ts';
import type { InputLine } from './input-line.ts';
import { clipped, closeText, type Line, painted, printRows, rowCells, type View } from './view.ts';

/** Bottom of the terminal as last drawn. */
export interface Drawn {
  readonly rows: readonly { readonly text: string; readonly cells: number }[];
  readonly cursor: Frame['cursor'];
  readonly columns: number;
}

export const NOTHING_DRAWN: Drawn = { rows: [], cursor: { row: 0, column: 0 }, columns: 0 };

const BEGIN = '\u001b[?2026h\u001b[?25l';
const END = '\u001b[?25h\u001b[?2026l';
/** Disables wrapping while the bottom is drawn, so that a row that turns out too wide is cut. */
const CUT = '\u001b[?7l';
/** Erases from the start of a row on, then from the next column: tmux keeps text erased from the first cell on. */
const ERASE = '\u001b[K\u001b[C\u001b[J\r';
const WRAP = '\u001b[?7h';

export interface Scene {
  readonly view: View;
  readonly input: InputLine;
  readonly size: Size;
  /** Epoch milliseconds. */
  readonly at: number;
}

/** Prints the view's new lines and redraws the bottom; the returned view has nothing left to print. Pure. */
export function nextPicture(
  before: Drawn,
  { view, input, size, at }: Scene,
  paint: Paint,
): { readonly output: string; readonly drawn: Drawn; readonly view: View } {
  const ready = printRows(view, size.columns);
  const printed = rowsOf(ready.lines, size.columns, paint);
  const rest = { ...ready, lines: [] };
  return { ...drawing(before, printed, frameOf(rest, input, size, at), size, paint), view: rest };
}

/** Prints the remaining lines and removes the bottom, leaving the cursor where the shell can continue. Pure. */
export function lastPicture(before: Drawn, view: View, columns: number, paint: Paint): string {
  const printed = rowsOf(closeText(view).lines, columns, paint);
  return `${erasing(before, columns)}${printed.map((row) => `${row}\r\n`).join('')}`;
}

/** Wraps or cuts the lines into rows for the terminal. */
function rowsOf(lines: readonly Line[], columns: number, paint: Paint): string[] {
  return lines.flatMap(({ spans, long }) => {
    const [only] = spans;
    if (long === 'cut' || spans.length !== 1 || only === undefined) return [painted(clipped(spans, columns), paint)];
    const { style, text } = only;
    // The agent's text, which has no style, is printed as it arrives, so its further rows have no indent.
    const hangs = style !== undefined || long === 'hang';
    const rows = (hangs ? wrapText(text, columns).split('\n') : [text]).flatMap((row) => wrap(row, columns));
    return rows.map((row) => (style === undefined ? rendered(row.text, paint) : paint(style, row.text)));
  });
}

const MARKDOWN = /\*\*(\S(?:[^*]*\S)?)\*\*|`([^`]+)`|^#{1,6} (.+)$/g;

/** Renders bold, inline code and headings of a row; a mark that is cut by the end of the row stays. */
function rendered(text: string, paint: Paint): string {
  return text.replace(MARKDOWN, (_, bold?: string, code?: string, heading?: string) =>
    code === undefined ? paint('bold', bold ?? heading ?? '') : paint('cyan', code),
  );
}

/** Prints `printed` above the bottom. Without it, and at the same width, writes only rows that differ. Pure. */
function drawing(
  before: Drawn,
  printed: readonly string[],
  frame: Frame,
  { columns }: Size,
  paint: Paint,
): { readonly output: string; readonly drawn: Drawn } {
  const rows = frame.rows.map((row) => ({ text: painted(row, paint), cells: rowCells(row) }));
  const drawn: Drawn = { rows, cursor: frame.cursor, columns };
  const rowsStay = printed.length === 0 && before.columns === columns && before.rows.length > 0;
  // An empty change writes nothing, because output would clear the user's selection.
  if (rowsStay && isSame(before, drawn)) return { output: '', drawn };
  const body = rowsStay ? changedRows(before, drawn) : wholeBottom(before, drawn, printed);
  return { output: `${BEGIN}${body}${END}`, drawn };
}

function isSame(one: Drawn, other: Drawn): boolean {
  return (
    one.rows.length === other.rows.length &&
    one.rows.every(({ text }, index) => text === other.rows[index]?.text) &&
    one.cursor.row === other.cursor.row &&
    one.cursor.column === other.cursor.column
  );
}

/** Removes the bottom; the next output takes its place. */
export function erasing(before: Drawn, columns: number): string {
  return `${toTop(before, columns)}${ERASE}`;
}

function wholeBottom(before: Drawn, now: Drawn, printed: readonly string[]): string {
  const above = printed.map((row) => `${row}\r\n`).join('');
  const rows = now.rows.map(({ text }) => text).join('\r\n');
  return `${erasing(before, now.columns)}${above}${CUT}${rows}${WRAP}${toCursor(now.rows.length - 1, now)}`;
}

function changedRows(before: Drawn, now: Drawn): string {
  let body = toTop(before, now.columns);
  for (const [index, { text }] of now.rows.entries()) {
    // Moves down by a line feed, which creates the row if necessary.
    if (index > 0) body += '\r\n';
    if (before.rows[index]?.text !== text) body += `${text}\u001b[K`;
  }
  if (now.rows.length < before.rows.length) body += '\r\n\u001b[J\u001b[A';
  return `${CUT}${body}${WRAP}${toCursor(now.rows.length - 1, now)}`;
}

/** Moves the cursor to the start of the first row. */
function toTop({ rows, cursor }: Drawn, columns: number): string {
  // A terminal that has become narrower has wrapped the rows that no longer fit.
  const broken = (cells: number): number => Math.max(1, Math.ceil(cells / Math.max(1, columns)));
  const above = rows.slice(0, cursor.row).reduce((sum, row) => sum + broken(row.cells), 0);
  const up = above + Math.floor(cursor.column / Math.max(1, columns));
  return up === 0 ? '\r' : `\r\u001b[${up}A`;
}

/** Moves from row `at` to the cursor. */
function toCursor(at: number, { cursor }: Drawn): string {
  const up = at - cursor.row;
  const right = cursor.column === 0 ? '' : `\u001b[${cursor.column}C`;
  return `\r${up > 0 ? `\u001b[${up}A` : ''}${right}`;
}
