import { stripVTControlCharacters, styleText } from 'node:util';
import { paintedCells } from './wrap.ts';

export type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export type Paint = (style: Style, text: string) => string;

/** Colours for people at a terminal; NO_COLOR and a dumb terminal turn them off. */
export function painter(atTerminal: boolean, env: NodeJS.ProcessEnv): Paint {
  const plain = !atTerminal || Boolean(env['NO_COLOR']) || env['TERM'] === 'dumb';
  // styleText would look at process.stdout again.
  return plain ? (_style, text) => text : (style, text) => styleText(style, text, { validateStream: false });
}

/** Control characters, and those that turn the direction of what follows: "gpj.exe" would read "exe.jpg". */
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u202a-\u202e\u2066-\u2069]/g;

/** Removes what could rewrite what the user reads: escape sequences and control characters but line ends and tabs. */
export function printable(text: string): string {
  return stripVTControlCharacters(text).replace(UNSEEN, '');
}

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
