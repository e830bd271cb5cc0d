import type { Paint, Style } from '../paint.ts';
import { cells, graphemes } from './cells.ts';

/** A piece of a row. Its text has no control characters and no line ends. */
export interface Span {
  readonly text: string;
  readonly style?: Style;
}

/** One row of the terminal. */
export type Row = readonly Span[];

export function rowCells(row: Row): number {
  return row.reduce((sum, { text }) => sum + cells(text), 0);
}

/** The row as the terminal gets it. */
export function painted(row: Row, paint: Paint): string {
  return row.map(({ text, style }) => (style === undefined ? text : paint(style, text))).join('');
}

/** The row cut to so many cells, with "…" where something is gone. */
export function clipped(row: Row, columns: number): Row {
  if (rowCells(row) <= columns) return row;
  const kept: Span[] = [];
  let left = Math.max(0, columns - 1);
  for (const span of row) {
    const text = headOf(span.text, left);
    kept.push({ ...span, text });
    left -= cells(text);
    if (text !== span.text) break;
  }
  const last = kept.at(-1);
  return columns < 1 || last === undefined ? [] : [...kept.slice(0, -1), { ...last, text: `${last.text}…` }];
}

/** As much of a text's beginning as fits. */
function headOf(text: string, columns: number): string {
  let taken = '';
  let left = columns;
  for (const one of graphemes(text)) {
    if (one.cells > left) break;
    taken += one.text;
    left -= one.cells;
  }
  return taken;
}
