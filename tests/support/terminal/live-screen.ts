import xterm from '@xterm/headless';
import type { RunnerEvent } from '../../../src/engine/runner-event.ts';
import type { Paint } from '../../../src/term/format.ts';
import { type InputLine, NEW_INPUT } from '../../../src/term/live/input.ts';
import { lastPicture, NOTHING_DRAWN, nextPicture, type Scene } from '../../../src/term/live/live-terminal.ts';
import { nextView } from '../../../src/term/live/next-view.ts';
import { NEW_VIEW } from '../../../src/term/live/view.ts';

export type Size = Scene['size'];

/** When every scene begins, epoch milliseconds. */
export const START = Date.parse('2026-03-01T10:00:00Z');
export const NO_COLOURS: Paint = (_, text) => text;

/** The live view in a terminal that is a model of a real one. */
export interface LiveScreen {
  /** Milliseconds that have passed. */
  readonly wait: (ms: number) => LiveScreen;
  readonly tell: (...events: readonly RunnerEvent[]) => LiveScreen;
  readonly type: (input: Partial<InputLine>) => LiveScreen;
  readonly resize: (size: Size) => LiveScreen;
  readonly draw: () => LiveScreen;
  readonly close: () => LiveScreen;
  /** Scroll-back and screen, as rows without trailing blanks. */
  readonly rows: () => Promise<string[]>;
  readonly cursor: () => Promise<{ readonly row: number; readonly column: number }>;
  /** Everything that was written to the terminal. */
  readonly written: () => string;
}

export function liveScreen(first: Size, paint: Paint = NO_COLOURS): LiveScreen {
  const terminal = new xterm.Terminal({
    cols: first.columns,
    rows: first.rows,
    scrollback: 5_000,
    allowProposedApi: true,
  });
  let size = first;
  let at = START;
  let view = NEW_VIEW;
  let input: InputLine = NEW_INPUT;
  let drawn = NOTHING_DRAWN;
  let written = '';
  const write = (text: string): void => {
    written += text;
    terminal.write(text);
  };
  const settled = (): Promise<void> => new Promise((resolve) => terminal.write('', resolve));
  const screen: LiveScreen = {
    wait: (ms) => {
      at += ms;
      return screen;
    },
    tell: (...events) => {
      for (const event of events) view = nextView(view, event, at);
      return screen;
    },
    type: (more) => {
      input = { ...input, ...more };
      return screen;
    },
    resize: (next) => {
      size = next;
      terminal.resize(next.columns, next.rows);
      return screen;
    },
    draw: () => {
      const made = nextPicture(drawn, { view, input, size, at }, paint);
      view = made.view;
      drawn = made.drawn;
      write(made.output);
      return screen;
    },
    close: () => {
      write(lastPicture(drawn, view, size.columns, paint));
      return screen;
    },
    rows: async () => {
      await settled();
      const buffer = terminal.buffer.active;
      const rows = Array.from(
        { length: buffer.length },
        (_, row) => buffer.getLine(row)?.translateToString(true) ?? '',
      );
      while (rows.at(-1) === '') rows.pop();
      return rows.map((row) => row.trimEnd());
    },
    cursor: async () => {
      await settled();
      const { baseY, cursorY, cursorX } = terminal.buffer.active;
      return { row: baseY + cursorY, column: cursorX };
    },
    written: () => written,
  };
  return screen;
}
