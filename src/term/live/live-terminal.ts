import type { Paint } from '../format.ts';
import { inForeground } from '../write-text.ts';
import { type Drawn, erasing, lastPicture, NOTHING_DRAWN, nextPicture, type Scene } from './draw.ts';
import type { Size } from './frame.ts';
import { type Key, readKeys } from './keys.ts';
import type { View } from './view.ts';

/** Shortest time between two drawings. */
const FRAME_MS = 33;
/** Time that the system needs to stop a process after SIGTSTP. */
const STOPS_MS = 500;
/** Interval at which times and countdowns are redrawn. */
const TICK_MS = 1_000;

const KEYS_ON = '\u001b[?2004h';
const KEYS_OFF = '\u001b[?2004l\u001b[?25h\u001b[?7h';

/** What the terminal shows and whom it tells. */
export interface Shown {
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
  /** Time since which the shell has the terminal, in epoch milliseconds; null while this process has it. */
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
      // Without job control the process was not stopped at all, and some shells send no SIGCONT to a running job.
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
