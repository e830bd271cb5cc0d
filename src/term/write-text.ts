import { fstatSync } from 'node:fs';
import { stripVTControlCharacters } from 'node:util';
import { eastAsianWidth } from 'get-east-asian-width';
import { writeAll } from '../state/files/regular-file.ts';
import { statFields } from '../state/process/identity.ts';

/** Grapheme cluster, and its width in terminal cells: 0, 1 or 2 (rarely more). */
interface Grapheme {
  readonly text: string;
  readonly cells: number;
}

/** Latin letters and our own symbols, which take one cell each. */
const PLAIN = /^[\u0020-\u007e\u00a1-\u00ac\u00ae-\u02ff\u2010-\u2026\u21b3\u25b8\u2500-\u259f\u2713\u2717]*$/;
const EMOJI = /\ufe0f|\u200d|[\u{1f1e6}-\u{1f1ff}]{2}|[\u{1f3fb}-\u{1f3ff}]/u;
/** Combining marks and invisible characters. */
const NOTHING = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}\u115f\u1160-\u11ff\u3164\uffa0]$/u;

/** Segmenter, created on first use because that takes 7 ms. */
let segmenter: Intl.Segmenter | null = null;

/** Splits a text without control characters into graphemes. */
export function graphemes(text: string): Grapheme[] {
  if (PLAIN.test(text)) return [...text].map((one) => ({ text: one, cells: 1 }));
  segmenter ??= new Intl.Segmenter('en', { granularity: 'grapheme' });
  return Array.from(segmenter.segment(text), ({ segment }) => ({ text: segment, cells: cellsOf(segment) }));
}

/** Counts the terminal cells of a text; if terminals differ, the larger number. */
export function cells(text: string): number {
  if (PLAIN.test(text)) return text.length;
  return graphemes(text).reduce((sum, one) => sum + one.cells, 0);
}

function cellsOf(grapheme: string): number {
  let sum = 0;
  for (const character of grapheme) {
    if (!NOTHING.test(character)) sum += eastAsianWidth(character.codePointAt(0) ?? 0);
  }
  // Several code points form one picture.
  return EMOJI.test(grapheme) && sum > 0 ? 2 : sum;
}

/** Returns the longest beginning of a text that fits into these cells. */
export function fitText(text: string, columns: number): string {
  let taken = '';
  let left = columns;
  for (const one of graphemes(text)) {
    if (one.cells > left) break;
    taken += one.text;
    left -= one.cells;
  }
  return taken;
}

/** Counts the cells of a text with colours. */
export function paintedCells(text: string): number {
  return cells(text.includes('\u001b') ? stripVTControlCharacters(text) : text);
}

/** Wraps each line of a coloured text between words; a word that is too long stays whole. */
export function wrapText(text: string, columns: number): string {
  return text
    .split('\n')
    .map((line) => (paintedCells(line) <= columns ? line : wrapLine(line, columns)))
    .join('\n');
}

/** Indentation of a word that is too long for its column. */
const SHALLOW = 4;

/**
 * Wraps a line. Further rows are indented like the line, its list item or its last column, but a word that is too long there
 * begins further left.
 */
function wrapLine(line: string, columns: number): string {
  const hang = /^\s*(?:[-*✓✗] |\d+\. )?/.exec(line)?.[0].length ?? 0;
  const gaps = stripVTControlCharacters(line).matchAll(/\S {2,}(?=\S)/g);
  const starts = Array.from(gaps, ({ 0: gap, index }) => index + gap.length).filter((start) => start <= columns / 2);
  const indent = ' '.repeat(Math.max(hang, ...starts));
  let row = '';
  let used = 0;
  const rows: string[] = [];
  for (const [, space = '', word = ''] of line.matchAll(/(\s*)(\S+)/g)) {
    const wide = paintedCells(word);
    const isTooLong = indent.length + wide > columns;
    if (used > (isTooLong ? hang : indent.length) && used + space.length + wide > columns) {
      rows.push(row);
      const before = isTooLong ? indent.slice(0, hang + SHALLOW) : indent;
      row = before + word;
      used = before.length + wide;
    } else {
      row += space + word;
      used += space.length + wide;
    }
  }
  // An answer is typed after the blank that ends a question.
  return [...rows, line.endsWith(' ') && used < columns ? `${row} ` : row].join('\n');
}

interface Wrapped {
  readonly text: string;
  /** Offset of the row in the text. */
  readonly from: number;
}

/**
 * Wraps a line, between words if possible. Added text changes only the last row; the others end without blanks. A character
 * that is too wide becomes "?".
 */
export function wrap(line: string, columns: number): Wrapped[] {
  const width = Math.max(1, columns);
  const rows: Wrapped[] = [];
  let row = { text: '', from: 0, cells: 0 };
  /** Beginning of the row's last word, if it is not the first. */
  let word: { readonly length: number; readonly from: number; readonly cells: number } | null = null;
  let at = 0;
  for (const { text, cells } of graphemes(line)) {
    const shown = cells > width ? '?' : text;
    const wide = cells > width ? 1 : cells;
    if (row.cells + wide > width) {
      if (text === ' ') {
        // The space at which a row is broken is not shown.
        rows.push({ text: row.text.trimEnd(), from: row.from });
        row = { text: '', from: at + 1, cells: 0 };
        word = null;
        at += 1;
        continue;
      }
      const carried = word === null ? '' : row.text.slice(word.length);
      rows.push({ text: row.text.slice(0, word?.length).trimEnd(), from: row.from });
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

const unread = new Set<1 | 2>();

/** Writes a text with a final newline. A closed pipe (`| head`) ends the program quietly, or through its SIGTERM listener. */
export function writeText(descriptor: 1 | 2, text: string): void {
  if (unread.has(descriptor)) return;
  try {
    writeAll(descriptor, text.endsWith('\n') ? text : `${text}\n`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EPIPE') throw error;
    unread.add(descriptor);
    if (!process.emit('SIGTERM', 'SIGTERM')) process.exit(0);
  }
}

/** Writes a text with a final newline, wrapped between words at the width of the terminal. */
export function printText(descriptor: 1 | 2, text: string): void {
  writeText(descriptor, wrapText(text, columnsOf(descriptor)));
}

/** Returns the width of the terminal; Infinity for a pipe or a file. */
export function columnsOf(descriptor: 1 | 2): number {
  if (!isTerminal(descriptor)) return Number.POSITIVE_INFINITY;
  return (descriptor === 1 ? process.stdout : process.stderr).columns || 80;
}

/** Returns whether this is a terminal. node's isTTY loads the network code (4 ms), so pipes and files are recognised first. */
export function isTerminal(descriptor: 1 | 2): boolean {
  return isDevice(descriptor) && (descriptor === 1 ? process.stdout : process.stderr).isTTY === true;
}

/** Returns whether a stream is a device; a closed one is not. */
function isDevice(descriptor: 1 | 2): boolean {
  try {
    return fstatSync(descriptor).isCharacterDevice();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EBADF') return false;
    throw error;
  }
}

/** Returns whether the process is in the foreground (true if unknown): in the background, a mode change would stop it. */
export function inForeground(): boolean {
  // State, parent, process group, session, terminal, and the terminal's foreground group.
  const [, , group, , , foreground] = statFields('self');
  return foreground === undefined || Number(foreground) <= 0 || group === foreground;
}

/** Rings the bell of the user's terminal, if there is one. */
export function ringBell(): void {
  if (isTerminal(2)) process.stderr.write('\u0007');
}
