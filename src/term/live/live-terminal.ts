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

export type LiveTerminal = ReturnType<typeof takeTerminal>;

/** Takes over the terminal. However the process ends, except by SIGKILL, the terminal is restored. */
export function takeTerminal(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  paint: Paint,
  shown: { get: () => Pick<Scene, 'view' | 'input'>; printed: (view: View) => void; key: (key: Key) => void },
) {
  let drawn: Drawn = NOTHING_DRAWN;
  let due: NodeJS.Timeout | null = null;
  let open = true;
  /** Time since which the shell has the terminal, in epoch milliseconds; null while this process has it. */
  let away: number | null = null;

  const size = (): Size => {
    // Node reads the size at SIGWINCH, which a busy process handles only after pending drawings.
    (output as { _refreshSize?: () => void })._refreshSize?.();
    return { columns: output.columns || 80, rows: output.rows || 24 };
  };
  const write = (text: string): void => void output.write(text);
  const paintNow = (): void => {
    if (due !== null) clearTimeout(due);
    due = null;
    if (!open || away !== null) return;
    // First, because a new size is drawn at once.
    const current = size();
    const made = nextPicture(drawn, { ...shown.get(), size: current, at: Date.now() }, paint);
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
    // A closed terminal has no mode, and the shell's mode must not be changed.
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
      // Reading a terminal from the background would stop the process.
      input.pause();
      return;
    }
    away = null;
    // The shell may have written anything: the bottom is no longer where it was.
    drawn = NOTHING_DRAWN;
    takeKeys();
    paintNow();
  };

  // A closed terminal is also reported by SIGHUP.
  for (const stream of [input, output]) stream.on('error', () => undefined);
  const stopKeys = readKeys(input.setEncoding('utf8'), shown.key);
  output.on('resize', paintNow);
  process.on('exit', close);
  process.on('uncaughtExceptionMonitor', close);
  process.on('SIGCONT', comeBack);
  const tick = setInterval(() => {
    // Without job control the process was not stopped at all, and some shells send no SIGCONT to a running job.
    if (away !== null && Date.now() - away > STOPS_MS) comeBack();
    else paintNow();
  }, TICK_MS);
  takeKeys();
  paintNow();
  return {
    /** Schedules a drawing of what `shown` then returns. */
    draw,
    /** Leaves the terminal to the shell until this process is in the foreground again. */
    suspend: () => {
      if (process.platform === 'win32') return;
      giveBack();
      input.pause();
      away = Date.now();
      process.kill(0, 'SIGTSTP');
    },
    /** Draws from scratch, on an empty screen. */
    redraw: () => {
      write('\u001b[2J\u001b[H');
      drawn = NOTHING_DRAWN;
      paintNow();
    },
    /** Prints the remaining lines and restores the terminal. A second call does nothing. */
    close,
  };
}
