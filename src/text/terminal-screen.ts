/** Number of lines that a program may still overwrite; older ones are settled. */
const HEIGHT = 40;
/** Column at which the cursor stops. */
const WIDTH = 1000;

/** A control sequence, an operating system command (ends at the bell, a string terminator or the next sequence), a control character, or text. */
const PIECES =
  /\u001b\[([0-?]*)[ -/]*([@-~])|\u001b[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[ -/]*[^ -/]?|[\u0000-\u001f\u007f]|[^\u0000-\u001f\u007f]+/g;
const PLAIN = /^[^\u0000-\u0008\u000a-\u001f\u007f]*$/;

/**
 * Shows lines of output as a terminal would: without colours, titles and whatever the program has overwritten. Each line is
 * passed on once, when it can no longer be overwritten or the screen is closed. Memory and time per line are bounded.
 */
export class TerminalScreen {
  readonly #onLine: (line: string) => void;
  /** Lines that can still change; none while no program has moved the cursor up. */
  #rows: string[] = [];
  #row = 0;
  #column = 0;

  constructor(onLine: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Writes a line and moves to the next one. */
  line(text: string): void {
    if (!PLAIN.test(text)) this.#write(text);
    else if (text !== '') this.#put(text);
    this.#row += 1;
    this.#column = 0;
    while (this.#row >= HEIGHT) this.#settle();
  }

  close(): void {
    while (this.#rows.length > 0) this.#settle();
  }

  #settle(): void {
    this.#onLine((this.#rows.shift() ?? '').trimEnd());
    this.#row = Math.max(0, this.#row - 1);
  }

  #put(text: string): void {
    while (this.#rows.length <= this.#row) this.#rows.push('');
    const row = this.#rows[this.#row] ?? '';
    const after = this.#column + text.length;
    this.#rows[this.#row] = row.slice(0, this.#column).padEnd(this.#column) + text + row.slice(after);
    this.#column = after;
  }

  #write(line: string): void {
    for (const [piece, parameters, final] of line.matchAll(PIECES)) {
      if (final !== undefined) this.#control(final, parameters ?? '');
      else if (piece === '\r') this.#column = 0;
      else if (piece === '\b') this.#column = Math.max(0, this.#column - 1);
      else if (piece === '\t' || piece >= ' ') if (!piece.startsWith('\u007f')) this.#put(piece);
    }
  }

  /** Moves the cursor or erases; every other sequence only changes how the text looks. */
  #control(final: string, parameters: string): void {
    const first = Number.parseInt(parameters, 10);
    const amount = Number.isNaN(first) ? 1 : Math.max(1, first);
    if (final === 'A' || final === 'F') this.#row = Math.max(0, this.#row - amount);
    if (final === 'B' || final === 'E') this.#row = Math.min(HEIGHT - 1, this.#row + amount);
    if (final === 'C') this.#column = Math.min(WIDTH, this.#column + amount);
    if (final === 'D') this.#column = Math.max(0, this.#column - amount);
    if (final === 'G') this.#column = Math.min(WIDTH, amount - 1);
    if (final === 'E' || final === 'F') this.#column = 0;
    if (final === 'K' || final === 'J') this.#erase(final, Number.isNaN(first) ? 0 : first);
  }

  /** Erases from the cursor to the end (0), from the beginning to the cursor (1) or all (2). */
  #erase(what: 'K' | 'J', how: number): void {
    const row = this.#rows[this.#row];
    if (row !== undefined) {
      const before = how === 0 ? row.slice(0, this.#column) : '';
      this.#rows[this.#row] = how === 1 ? ' '.repeat(this.#column) + row.slice(this.#column) : before;
    }
    if (what === 'J' && how === 0) this.#rows.length = Math.min(this.#rows.length, this.#row + 1);
  }
}

/** Returns a line as a terminal would show it once it is written. */
export function shownLine(text: string): string {
  let shown = '';
  const screen = new TerminalScreen((line) => {
    shown = shown === '' ? line : shown;
  });
  screen.line(text);
  screen.close();
  return shown;
}

/** Returns a text of several lines as a terminal would show it once it is written. */
export function shownText(text: string): string {
  const shown: string[] = [];
  const screen = new TerminalScreen((line) => shown.push(line));
  for (const line of text.split('\n')) screen.line(line.replace(/\r$/, ''));
  screen.close();
  return shown.join('\n');
}
