import { graphemes } from './cells.ts';

export interface Wrapped {
  readonly text: string;
  /** Where the row begins in the text. */
  readonly from: number;
}

/**
 * A line of text in rows of at most `columns` cells, broken between words where there are any. Text that is added later
 * changes the last row alone. A character that is wider than the whole terminal becomes "?".
 */
export function wrap(line: string, columns: number): Wrapped[] {
  const width = Math.max(1, columns);
  const rows: Wrapped[] = [];
  let row = { text: '', from: 0, cells: 0 };
  /** Where the last word of the row begins, once there is something before it. */
  let word: { readonly length: number; readonly from: number; readonly cells: number } | null = null;
  let at = 0;
  for (const { text, cells } of graphemes(line)) {
    const shown = cells > width ? '?' : text;
    const wide = cells > width ? 1 : cells;
    if (row.cells + wide > width) {
      if (text === ' ') {
        // The space at which a row is broken is not shown.
        rows.push({ text: row.text, from: row.from });
        row = { text: '', from: at + 1, cells: 0 };
        word = null;
        at += 1;
        continue;
      }
      const carried = word === null ? '' : row.text.slice(word.length);
      const kept = word === null ? row.text : row.text.slice(0, word.length).trimEnd();
      rows.push({ text: kept, from: row.from });
      row =
        word === null
          ? { text: '', from: at, cells: 0 }
          : { text: carried, from: word.from, cells: row.cells - word.cells };
      word = null;
    }
    row = { text: row.text + shown, from: row.from, cells: row.cells + wide };
    at += text.length;
    if (text === ' ' && row.text.trim() !== '') word = { length: row.text.length, from: at, cells: row.cells };
  }
  rows.push({ text: row.text, from: row.from });
  return rows;
}
