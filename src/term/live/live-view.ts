import type { RunnerEvent } from '../../engine/runner-event.ts';
import { show } from '../../state/process/program.ts';
import { RalphError } from '../../text/message.ts';
import { painter, printable } from '../format.ts';
import { EDITS, inserted, type Key, NEW_INPUT, sent } from './input.ts';
import { LiveTerminal } from './live-terminal.ts';
import { LIVE_TEXTS } from './messages.ts';
import { nextView, withHeading } from './next-view.ts';
import { NEW_VIEW, type View } from './view.ts';

/** Text that, entered alone, allows the last denied call. A whole message is never taken for it by accident. */
const ALLOW = 'a';
/** Maximum number of lines kept for a loop that is not in focus. */
const MOST_UNSEEN = 200;

/** Actions of the user on a running loop. Each throws RalphError if it is not possible. */
export interface LiveControls {
  /** Sends a message: `now` at the agent's next tool call, `next` with the next prompt. */
  readonly say: (text: string, delivery: 'now' | 'next') => void;
  /** Asks the agent to end its turn, which pauses the loop. */
  readonly interrupt: () => void;
  /** Resumes a paused loop, with the user's text. */
  readonly goOn: (text: string) => void;
  /** Ends a wait: Enter without a text. */
  readonly wake: () => void;
  /** Allows what the agent was denied in this call, for the rest of the loop. */
  readonly allow?: (call: string) => void;
  readonly press: () => void;
  /** Handles Ctrl+X, in a view that does not drive the loop. */
  readonly stop?: () => void;
}

interface LiveViewOptions {
  readonly input: NodeJS.ReadStream;
  readonly output: NodeJS.WriteStream;
  readonly env: NodeJS.ProcessEnv;
  /** True if another process drives the loops. */
  readonly attached?: boolean;
}

/** Shows loops in the terminal and reads the keyboard, from the first event on. */
export class LiveView {
  readonly #options: LiveViewOptions;
  readonly #views = new Map<string, View>();
  #focus = '';
  #line = NEW_INPUT;
  #controls: LiveControls | null = null;
  #terminal: LiveTerminal | null = null;

  constructor(options: LiveViewOptions) {
    this.#options = options;
  }

  /** Returns the shown loop, which the keys control. */
  get focus(): string {
    return this.#focus;
  }

  /** Lets keys control the loop from now on. */
  live(controls: LiveControls): void {
    this.#controls = controls;
  }

  /** Shows an event of a loop; `loop` names it if several run side by side. */
  tell(event: RunnerEvent, loop = this.#focus): void {
    if (this.#views.size === 0) this.#focus = loop;
    if (event.type === 'run.ended' && loop !== this.#focus) {
      this.#views.delete(loop);
      this.#notice(`${loop}: ${event.message}`);
      return;
    }
    const next = nextView(this.#viewOf(loop), event, Date.now());
    this.#views.set(loop, loop === this.#focus ? next : { ...next, lines: next.lines.slice(-MOST_UNSEEN) });
    this.#leaveEnded();
    this.#terminal ??= this.#takeTerminal();
    this.#terminal.draw();
  }

  close(): void {
    const { text } = this.#line;
    // A user who was typing when the loop ended keeps the text.
    if (text.trim() !== '') this.#notice(LIVE_TEXTS.notSent(text));
    this.#terminal?.close();
  }

  #takeTerminal(): LiveTerminal {
    const { input, output, env } = this.#options;
    return new LiveTerminal(input, output, painter(true, env), {
      get: () => ({ view: this.#shown(), input: this.#line }),
      printed: ({ others: _, ...rest }) => {
        this.#views.set(this.#focus, { ...rest, others: [] });
      },
      key: (key) => this.#press(key),
    });
  }

  #viewOf(loop: string): View {
    const { attached = false } = this.#options;
    return this.#views.get(loop) ?? { ...NEW_VIEW, attached, name: loop };
  }

  /** Returns the loop in focus, with the others as rows. */
  #shown(): View {
    const others = [...this.#views].filter(([loop]) => loop !== this.#focus).map(([, view]) => view);
    return { ...this.#viewOf(this.#focus), others };
  }

  #showNext(): void {
    const loops = [...this.#views.keys()];
    this.#focus = loops[(loops.indexOf(this.#focus) + 1) % loops.length] ?? this.#focus;
    const view = this.#viewOf(this.#focus);
    if (loops.length > 1) this.#views.set(this.#focus, withHeading(view, LIVE_TEXTS.border(view.name)));
  }

  /** Shows another loop instead of an ended one, below the ended one's last output. */
  #leaveEnded(): void {
    const next = [...this.#views].find(([loop, { status }]) => loop !== this.#focus && status !== 'ended')?.[0];
    const { status, lines } = this.#viewOf(this.#focus);
    if (next === undefined || (status !== 'ended' && this.#focus !== '')) return;
    this.#views.delete(this.#focus);
    this.#focus = next;
    const view = withHeading(this.#viewOf(next), LIVE_TEXTS.border(this.#viewOf(next).name));
    this.#views.set(next, { ...view, lines: [...lines, ...view.lines] });
  }

  #notice(message: string): void {
    this.tell({ type: 'agent.notice', message });
  }

  /** Performs an action; returns true on success. An error is shown to the user, and the loop continues. */
  #act(what: () => void): boolean {
    try {
      what();
      return true;
    } catch (error) {
      this.#notice(error instanceof RalphError ? show(error.advised) : (error as Error).message);
      return false;
    }
  }

  #submit(delivery: 'now' | 'next'): void {
    const text = this.#line.text.trim();
    const { status, waiting, denied } = this.#shown();
    const paused = status === 'paused';
    if (this.#controls === null) return;
    const { say, goOn, wake, allow } = this.#controls;
    if (text === ALLOW && denied !== null && allow !== undefined) {
      if (this.#act(() => allow(denied.call))) this.#line = NEW_INPUT;
      return;
    }
    if (text === '' && !paused) {
      if (waiting !== null) this.#act(wake);
      return;
    }
    if (this.#act(() => (paused ? goOn(text) : say(text, delivery)))) this.#line = sent(this.#line);
  }

  #press(key: Key): void {
    switch (key.kind) {
      case 'text':
        this.#line = inserted(this.#line, printable(key.text).replaceAll('\t', '  '));
        break;
      case 'edit':
        this.#line = EDITS[key.edit](this.#line);
        break;
      case 'enter':
        this.#submit('now');
        break;
      case 'alt-enter':
        this.#submit('next');
        break;
      case 'escape':
        if (this.#controls !== null) this.#act(this.#controls.interrupt);
        break;
      case 'interrupt':
        if (this.#controls === null) process.kill(process.pid, 'SIGINT');
        else this.#act(this.#controls.press);
        break;
      case 'stop':
        if (this.#controls?.stop !== undefined) this.#act(this.#controls.stop);
        break;
      case 'next':
        this.#showNext();
        break;
      case 'suspend':
        this.#terminal?.suspend();
        return;
      case 'redraw':
        this.#terminal?.redraw();
        return;
      default:
        key satisfies never;
    }
    this.#terminal?.draw();
  }
}
