import type { Paint } from '../format.ts';
import { inForeground, wrap, wrapText } from '../write-text.ts';
import { type Frame, frameOf, type Size } from './frame.ts';
import { type InputLine, type Key, readKeys } from './input.ts';
import { clipped, closeText, type Line, painted, printRows, rowCells, type View } from './view.ts';

/** Shortest time between two drawings. */
const FRAME_MS = 33;
/** Time that the system needs to stop a process after SIGTSTP. */
const STOPS_MS = 500;
/** Interval at which times and countdowns are redrawn. */
const TICK_MS = 1_000;

const KEYS_ON = '\u001b[?2004h';
const KEYS_OFF = '\u001b[?2004l\u001b[?25h\u001b[?7h';

/** The contents of the terminal, and the functions it calls. */
interface Shown {
  readonly get: () => Pick<Scene, 'view' | 'input'>;
  readonly printed: (view: View) => void;
  readonly key: (key: Key) => void;
}

/** Takes over the terminal. However the process ends, except by SIGKILL, the terminal is restored. */
export class LiveTerminal {
  readonly #input: NodeJS.ReadStream;
  readonly #output: NodeJS.WriteStream;
  readonly #paint: Paint;
  readonly #shown: Shown;
  readonly #stopKeys: () => void;
  readonly #tick: NodeJS.Timeout;
  #drawn: Drawn = NOTHING_DRAWN;
  #due: NodeJS.Timeout | null = null;
  #isOpen = true;
  /** Time since which the shell has had the terminal, in epoch milliseconds; null while this process has it. */
  #awaySince: number | null = null;

  constructor(input: NodeJS.ReadStream, output: NodeJS.WriteStream, paint: Paint, shown: Shown) {
    this.#input = input;
    this.#output = output;
    this.#paint = paint;
    this.#shown = shown;
    // A closed terminal is also reported by SIGHUP.
    for (const stream of [input, output]) stream.on('error', () => undefined);
    this.#stopKeys = readKeys(input.setEncoding('utf8'), shown.key);
    output.on('resize', this.#paintNow);
    process.on('exit', this.close);
    process.on('uncaughtExceptionMonitor', this.close);
    process.on('SIGCONT', this.#comeBack);
    this.#tick = setInterval(() => {
      // Without job control, the process was not stopped at all, and some shells send no SIGCONT to a running job.
      if (this.#awaySince !== null && Date.now() - this.#awaySince > STOPS_MS) this.#comeBack();
      else this.#paintNow();
    }, TICK_MS);
    this.#takeKeys();
    this.#paintNow();
  }

  /** Schedules a drawing of what `shown` then returns. */
  draw(): void {
    if (this.#isOpen) this.#due ??= setTimeout(this.#paintNow, FRAME_MS);
  }

  /** Draws from scratch, on an empty screen. */
  redraw(): void {
    this.#write('\u001b[2J\u001b[H');
    this.#drawn = NOTHING_DRAWN;
    this.#paintNow();
  }

  /** Leaves the terminal to the shell until this process is in the foreground again. */
  suspend(): void {
    if (process.platform === 'win32') return;
    this.#giveBack();
    this.#input.pause();
    this.#awaySince = Date.now();
    process.kill(0, 'SIGTSTP');
  }

  /** Prints the remaining lines and restores the terminal. A second call does nothing. */
  readonly close = (): void => {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    clearInterval(this.#tick);
    if (this.#due !== null) clearTimeout(this.#due);
    this.#stopKeys();
    try {
      this.#write(lastPicture(this.#drawn, this.#shown.get().view, this.#size().columns, this.#paint));
      this.#drawn = NOTHING_DRAWN;
    } finally {
      this.#giveBack();
    }
    this.#input.pause();
    this.#output.off('resize', this.#paintNow);
    process.off('exit', this.close);
    process.off('uncaughtExceptionMonitor', this.close);
    process.off('SIGCONT', this.#comeBack);
  };

  readonly #paintNow = (): void => {
    if (this.#due !== null) clearTimeout(this.#due);
    this.#due = null;
    if (!this.#isOpen || this.#awaySince !== null) return;
    // First, because a new size is drawn at once.
    const size = this.#size();
    const made = nextPicture(this.#drawn, { ...this.#shown.get(), size, at: Date.now() }, this.#paint);
    this.#shown.printed(made.view);
    this.#drawn = made.drawn;
    if (made.output !== '') this.#write(made.output);
  };

  readonly #comeBack = (): void => {
    if (!this.#isOpen) return;
    if (!inForeground()) {
      this.#awaySince ??= Date.now();
      // Reading a terminal from the background would stop the process.
      this.#input.pause();
      return;
    }
    this.#awaySince = null;
    // The shell may have written anything: the bottom is no longer where it was.
    this.#drawn = NOTHING_DRAWN;
    this.#takeKeys();
    this.#paintNow();
  };

  #takeKeys(): void {
    this.#input.resume();
    this.#input.setRawMode(true);
    this.#write(KEYS_ON);
  }

  #giveBack(): void {
    this.#write(`${erasing(this.#drawn, this.#size().columns)}${KEYS_OFF}`);
    this.#drawn = NOTHING_DRAWN;
    // A closed terminal has no mode, and the shell's mode must not be changed.
    if (!this.#input.destroyed && this.#awaySince === null) this.#input.setRawMode(false);
  }

  #size(): Size {
    // Node reads the size at SIGWINCH, which a busy process handles only after pending drawings.
    (this.#output as { _refreshSize?: () => void })._refreshSize?.();
    return { columns: this.#output.columns || 80, rows: this.#output.rows || 24 };
  }

  #write(text: string): void {
    this.#output.write(text);
  }
}

/** Bottom of the terminal as last drawn. */
interface Drawn {
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

/** Renders bold, inline code and headings of a row; keeps a mark that is cut by the end of the row. */
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
function erasing(before: Drawn, columns: number): string {
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
