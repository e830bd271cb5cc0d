import { stripVTControlCharacters } from 'node:util';

/** Rows as aligned columns, two spaces apart, without trailing blanks. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, cellsOf(cell));
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => padded(cell, widths[index] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function padded(cell: string, wanted: number): string {
  return cell + ' '.repeat(wanted - cellsOf(cell));
}

/** How many cells of a terminal a text without wide characters takes, its colours left out. */
export function cellsOf(cell: string): number {
  return stripVTControlCharacters(cell).length;
}
