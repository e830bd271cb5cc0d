import type { Paint } from '../paint.ts';
import { type Drawn, erasing, lastPicture, NOTHING_DRAWN, nextPicture } from './draw.ts';
import type { Size } from './frame.ts';
import type { InputLine } from './input-line.ts';
import { type Key, NOTHING_UNREAD, readKeys } from './keys.ts';
import type { View } from './view.ts';

/** A lone Escape is a key when nothing follows it for so long; a sequence comes at once. */
const ESCAPE_MS = 40;
/** A paste of which nothing more comes is over, whether or not its end was seen. */
const PASTE_MS = 1_000;
/** Drawing more often than that shows nobody anything. */
const FRAME_MS = 33;
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
  let unread = NOTHING_UNREAD;
  let waiting: NodeJS.Timeout | null = null;
  let open = true;

  const size = (): Size => ({ columns: output.columns || 80, rows: output.rows || 24 });
  const write = (text: string): void => void output.write(text);
  const paintNow = (): void => {
    if (due !== null) clearTimeout(due);
    due = null;
    if (!open) return;
    const made = nextPicture(drawn, { ...shown.get(), size: size(), at: Date.now() }, paint);
    shown.printed(made.view);
    drawn = made.drawn;
    write(made.output);
  };
  const draw = (): void => {
    if (open) due ??= setTimeout(paintNow, FRAME_MS);
  };

  const hear = (chunk: string, last: boolean): void => {
    if (waiting !== null) clearTimeout(waiting);
    waiting = null;
    const read = readKeys(unread, chunk, last);
    unread = read.unread;
    for (const key of read.keys) shown.key(key);
    if (unread.rest === '' && !unread.pasting) return;
    waiting = setTimeout(() => hear('', true), unread.pasting ? PASTE_MS : ESCAPE_MS);
  };
  const onData = (chunk: string): void => hear(chunk, false);
  const takeKeys = (): void => {
    input.setRawMode(true);
    write(KEYS_ON);
  };
  const giveBack = (): void => {
    write(`${erasing(drawn, size().columns)}${KEYS_OFF}`);
    drawn = NOTHING_DRAWN;
    // A terminal that is gone has no mode any more.
    if (!input.destroyed) input.setRawMode(false);
  };

  const close = (): void => {
    if (!open) return;
    open = false;
    clearInterval(tick);
    if (due !== null) clearTimeout(due);
    if (waiting !== null) clearTimeout(waiting);
    try {
      write(lastPicture(drawn, shown.get().view, size().columns, paint));
      drawn = NOTHING_DRAWN;
    } finally {
      giveBack();
    }
    input.off('data', onData);
    input.pause();
    output.off('resize', paintNow);
    process.off('exit', close);
    process.off('uncaughtExceptionMonitor', close);
    process.off('SIGCONT', comeBack);
  };
  const comeBack = (): void => {
    if (!open) return;
    takeKeys();
    paintNow();
  };

  // What a closed terminal answers is told by SIGHUP as well.
  for (const stream of [input, output]) stream.on('error', () => undefined);
  input.setEncoding('utf8').on('data', onData).resume();
  output.on('resize', paintNow);
  process.on('exit', close);
  process.on('uncaughtExceptionMonitor', close);
  process.on('SIGCONT', comeBack);
  const tick = setInterval(paintNow, TICK_MS);
  takeKeys();
  paintNow();
  return {
    draw,
    suspend: () => {
      giveBack();
      process.kill(0, 'SIGTSTP');
      // Where nobody does job control it was not stopped at all.
      setImmediate(comeBack);
    },
    redraw: () => {
      write('\u001b[2J\u001b[H');
      drawn = NOTHING_DRAWN;
      paintNow();
    },
    close,
  };
}
