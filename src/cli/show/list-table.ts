import { type Paint, table } from '../../term/format.ts';
import { columnsOf, paintedCells } from '../../term/write-text.ts';

/** Lists rows below a head, without empty columns; as blocks below their first cells if lines would wrap. */
export function listTable(head: readonly string[], rows: readonly (readonly string[])[], paint: Paint): string {
  // An empty column would only make the lines wrap.
  const told = head.map((_, index) => rows.some((row) => row[index] !== ''));
  const shown = (row: readonly string[]): string[] => row.filter((_, index) => told[index]);
  const wide = table([
    shown(head).map((title) => paint('dim', title)),
    ...rows.map((row) => shown(row).map((cell) => cell || '-')),
  ]);
  const fits = wide.split('\n').every((line) => paintedCells(line) <= columnsOf(1));
  return fits ? wide : rows.map((row) => block(head, row, paint)).join('\n\n');
}

function block(head: readonly string[], [name = '', ...cells]: readonly string[], paint: Paint): string {
  const told = cells.flatMap((cell, index) => {
    const title = head[index + 1] ?? '';
    return cell === '' ? [] : [['', paint('dim', title.toLowerCase()), cell]];
  });
  return [name, table(told)].join('\n');
}
