import { paintedCells } from './wrap.ts';

/** Aligns rows in columns, two spaces apart, without trailing blanks. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, paintedCells(cell));
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => cell + ' '.repeat((widths[index] ?? 0) - paintedCells(cell)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/** Draws a bar of at most so many cells, in proportion to `greatest`, to an eighth of a cell. Zero is no bar. */
export function bar(value: number, greatest: number, cells: number): string {
  if (!(value > 0) || !(greatest > 0)) return '';
  const eighths = Math.max(1, Math.round((Math.min(value, greatest) / greatest) * cells * 8));
  return '█'.repeat(Math.floor(eighths / 8)) + (EIGHTHS[eighths % 8] ?? '');
}
