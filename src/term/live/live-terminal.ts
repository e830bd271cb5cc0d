import type { Paint } from '../paint.ts';
import { inForeground } from '../write-text.ts';
import { type Drawn, erasing, lastPicture, NOTHING_DRAWN, nextPicture } from './draw.ts';
import type { Size } from './frame.ts';
import type { InputLine } from './input-line.ts';
import { type Key, readKeys } from './keys.ts';
import type { View } from './view.ts';

/** Drawing more often than that shows nobody anything. */
const FRAME_MS = 33;
/** A process that is told to stop has stopped by then. */
const STOPS_MS = 500;
/** Times and countdowns move by themselves. */
const TICK_MS = 1_000;

const KEYS_ON = '\u001b[?2004h';
const KEYS_OFF = '\u001b[?2004l\u001b[?25h\u001b[?7h';

export interface Shown {
  readonly view: View;
  readonly input: InputLine;
}

export interface LiveTerminal {
  /** Draws soon what `shown` gives then. */
  readonly draw: () => void;
  /** Gives the terminal to the shell until it is back in the foreground. */
  readonly suspend: () => void;
  /** Draws from scratch, on an empty screen. */
  readonly redraw: () => void;
  /** Prints what is left and puts the terminal back as it was. Called twice it does nothing more. */
  readonly close: () => void;
}

/**
 * Takes the terminal: keys come one by one, and the bottom rows are drawn again and again. However the process ends,
 * short of SIGKILL, the terminal is put back.
 */
export function takeTerminal(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  paint: Paint,
  shown: { get: () => Shown; printed: (view: View) => void; key: (key: Key) => void },
): LiveTerminal {
  let drawn: Drawn = NOTHING_DRAWN;
  let due: NodeJS.Timeout | null = null;
  let open = true;
  /** Since when the terminal is the shell's, epoch milliseconds: this process is stopped, or in the background. */
  let away: number | null = null;

  const size = (): Size => ({ columns: output.columns || 80, rows: output.rows || 24 });
  const write = (text: string): void => void output.write(text);
  const paintNow = (): void => {
    if (due !== null) clearTimeout(due);
    due = null;
    if (!open || away !== null) return;
    const made = nextPicture(drawn, { ...shown.get(), size: size(), at: Date.now() }, paint);
    shown.printed(made.view);
    drawn = made.drawn;
    if (made.output !== '') write(made.output);
  };
  const draw = (): void => {
    if (open) due ??= setTimeout(paintNow, FRAME_MS);
  };

  const takeKeys = (): void => {
    input.resume();
    input.setRawMode(true);
    write(KEYS_ON);
  };
  const giveBack = (): void => {
    write(`${erasing(drawn, size().columns)}${KEYS_OFF}`);
    drawn = NOTHING_DRAWN;
    // A terminal that is gone has no mode any more, and the shell's is not ours to change.
    if (!input.destroyed && away === null) input.setRawMode(false);
  };

  const close = (): void => {
    if (!open) return;
    open = false;
    clearInterval(tick);
    if (due !== null) clearTimeout(due);
    stopKeys();
    try {
      write(lastPicture(drawn, shown.get().view, size().columns, paint));
      drawn = NOTHING_DRAWN;
    } finally {
      giveBack();
    }
    input.pause();
    output.off('resize', paintNow);
    process.off('exit', close);
    process.off('uncaughtExceptionMonitor', close);
    process.off('SIGCONT', comeBack);
  };
  const comeBack = (): void => {
    if (!open) return;
    if (!inForeground()) {
      away ??= Date.now();
      // Who reads a terminal from the background is stopped.
      input.pause();
      return;
    }
    away = null;
    // Whatever stands in the terminal by now, the bottom is not where it was.
    drawn = NOTHING_DRAWN;
    takeKeys();
    paintNow();
  };

  // What a closed terminal answers is told by SIGHUP as well.
  for (const stream of [input, output]) stream.on('error', () => undefined);
  const stopKeys = readKeys(input.setEncoding('utf8'), shown.key);
  output.on('resize', paintNow);
  process.on('exit', close);
  process.on('uncaughtExceptionMonitor', close);
  process.on('SIGCONT', comeBack);
  const tick = setInterval(() => {
    // Where nobody does job control it was not stopped at all, and some shells tell a running job nothing.
    if (away !== null && Date.now() - away > STOPS_MS) comeBack();
    else paintNow();
  }, TICK_MS);
  takeKeys();
  paintNow();
  return {
    draw,
    suspend: () => {
      if (process.platform === 'win32') return;
      giveBack();
      input.pause();
      away = Date.now();
      process.kill(0, 'SIGTSTP');
    },
    redraw: () => {
      write('\u001b[2J\u001b[H');
      drawn = NOTHING_DRAWN;
      paintNow();
    },
    close,
  };
}
