import type { RunnerEvent } from '../../engine/runner-event.ts';
import { show } from '../../state/process/program.ts';
import { RalphError } from '../../text/message.ts';
import { painter, printable } from '../format.ts';
import { EDITS, inserted, NEW_INPUT, sent } from './input-line.ts';
import type { Key } from './keys.ts';
import { type LiveTerminal, takeTerminal } from './live-terminal.ts';
import { LIVE_TEXTS } from './messages.ts';
import { nextView, withHeading } from './next-view.ts';
import { NEW_VIEW, type View } from './view.ts';

/** Maximum number of lines kept of a loop that is not in focus. */
const MOST_UNSEEN = 200;

/** Actions of the user on a running loop. Each throws RalphError if it is not possible. */
export interface LiveControls {
  /** Sends a message: `now` at the agent's next tool call, `next` with the next prompt. */
  readonly say: (text: string, delivery: 'now' | 'next') => void;
  /** Asks the agent to end its turn, which pauses the loop. */
  readonly interrupt: () => void;
  /** Resumes a paused loop, with the user's text. */
  readonly goOn: (text: string) => void;
  readonly press: () => void;
  /** Handles Ctrl+X, in a view that does not drive the loop. */
  readonly stop?: () => void;
}

/** Shows a loop in the terminal and reads the keyboard, from the first event on. `attached`: another process drives it. */
export function liveView(
  input: NodeJS.ReadStream,
  output: NodeJS.WriteStream,
  env: NodeJS.ProcessEnv,
  attached = false,
) {
  const views = new Map<string, View>();
  let focus = '';
  let line = NEW_INPUT;
  let controls: LiveControls | null = null;
  let terminal: LiveTerminal | null = null;

  const viewOf = (loop: string): View => views.get(loop) ?? { ...NEW_VIEW, attached, name: loop };
  /** Returns the loop in focus, with the others as rows. */
  const shown = (): View => {
    const others = [...views].filter(([loop]) => loop !== focus).map(([, view]) => view);
    return { ...viewOf(focus), others };
  };
  const showNext = (): void => {
    const loops = [...views.keys()];
    focus = loops[(loops.indexOf(focus) + 1) % loops.length] ?? focus;
    const view = viewOf(focus);
    if (loops.length > 1) views.set(focus, withHeading(view, LIVE_TEXTS.border(view.name)));
  };

  /** Shows another loop instead of an ended one, below the last output of that. */
  const leaveEnded = (): void => {
    const next = [...views].find(([loop, { status }]) => loop !== focus && status !== 'ended')?.[0];
    const { status, lines } = viewOf(focus);
    if (next === undefined || (status !== 'ended' && focus !== '')) return;
    views.delete(focus);
    focus = next;
    const view = withHeading(viewOf(next), LIVE_TEXTS.border(viewOf(next).name));
    views.set(next, { ...view, lines: [...lines, ...view.lines] });
  };

  /** Performs an action; returns true on success. An error is shown to the user, and the loop continues. */
  const act = (what: () => void): boolean => {
    try {
      what();
      return true;
    } catch (error) {
      tell({
        type: 'agent.notice',
        message: error instanceof RalphError ? show(error.advised) : (error as Error).message,
      });
      return false;
    }
  };
  const submit = (delivery: 'now' | 'next'): void => {
    const text = line.text.trim();
    const paused = shown().status === 'paused';
    if (controls === null || (text === '' && !paused)) return;
    const { say, goOn } = controls;
    if (act(() => (paused ? goOn(text) : say(text, delivery)))) line = sent(line);
  };
  const press = (key: Key): void => {
    switch (key.kind) {
      case 'text':
        line = inserted(line, printable(key.text).replaceAll('\t', '  '));
        break;
      case 'edit':
        line = EDITS[key.edit](line);
        break;
      case 'enter':
        submit('now');
        break;
      case 'alt-enter':
        submit('next');
        break;
      case 'escape':
        if (controls !== null) act(controls.interrupt);
        break;
      case 'interrupt':
        if (controls === null) process.kill(process.pid, 'SIGINT');
        else act(controls.press);
        break;
      case 'stop':
        if (controls?.stop !== undefined) act(controls.stop);
        break;
      case 'next':
        showNext();
        break;
      case 'suspend':
        terminal?.suspend();
        return;
      case 'redraw':
        terminal?.redraw();
        return;
      default:
        key satisfies never;
    }
    terminal?.draw();
  };
  const tell = (event: RunnerEvent, loop = focus): void => {
    if (views.size === 0) focus = loop;
    if (event.type === 'run.ended' && loop !== focus) {
      views.delete(loop);
      tell({ type: 'agent.notice', message: `${loop}: ${event.message}` });
      return;
    }
    const next = nextView(viewOf(loop), event, Date.now());
    views.set(loop, loop === focus ? next : { ...next, lines: next.lines.slice(-MOST_UNSEEN) });
    leaveEnded();
    terminal ??= takeTerminal(input, output, painter(true, env), {
      get: () => ({ view: shown(), input: line }),
      printed: ({ others: _, ...rest }) => {
        views.set(focus, { ...rest, others: [] });
      },
      key: press,
    });
    terminal.draw();
  };
  return {
    /** Shows an event of a loop; `loop` names it if several run side by side. */
    tell,
    /** Returns the shown loop, which the keys control. */
    focus: () => focus,
    /** Lets keys control the loop from now on. */
    live: (given: LiveControls) => {
      controls = given;
    },
    close: () => {
      // A user who was typing when the loop ended keeps the text.
      if (line.text.trim() !== '') tell({ type: 'agent.notice', message: LIVE_TEXTS.notSent(line.text) });
      terminal?.close();
    },
  };
}
