import { reportLines } from '../engine/end-report.ts';
import type { RunnerEvent, RunnerEventOf } from '../engine/runner-event.ts';
import { withPrefix } from '../state/process/program.ts';
import { commandText, deniedText, isSaidLater, printable, runFigures } from '../term/format.ts';
import type { LiveControls } from '../term/live/live-view.ts';
import { LIVE_TEXTS } from '../term/live/messages.ts';
import { inForeground } from '../term/write-text.ts';
import { dollarText, timeText } from '../text/figures.ts';
import { localTime } from '../text/time.ts';
import type { CommandContext } from './command.ts';

type Lines<T extends RunnerEvent['type']> = (event: RunnerEventOf<T>, attached: boolean) => string[];

/** Lines that show an event to people; other events have none. */
const LINES: { readonly [T in RunnerEvent['type']]?: Lines<T> } = {
  'run.started': ({ name, taskPath }, attached) => [
    withPrefix(`${name === null ? 'The loop' : `Loop ${name}`} is working on ${taskPath}.`),
    `Ctrl+C ${attached ? 'leaves it running' : 'stops it after this iteration; a second one cancels it'}.`,
  ],
  'iteration.started': ({ begins, maxIterations, task }) => [
    '',
    printable(LIVE_TEXTS.iteration(begins, maxIterations, task)),
  ],
  'command.ran': (event) => [`  ${event.outcome === 'ok' ? '✓' : '✗'} ${printable(commandText(event))}`],
  'agent.text': ({ text }) => [printable(text)],
  'tool.ended': (event) => {
    const indent = event.nested ? '    ' : '  ';
    const label = printable(`${event.tool} ${event.about}`).trimEnd();
    const line = `${indent}${event.outcome === 'ok' ? '✓' : '✗'} ${label} (${timeText(event.durationMs)})`;
    return event.outcome === 'denied' ? [line, printable(deniedText(event))] : [line];
  },
  'steering.sent': () => [withPrefix('The agent received your message.')],
  'agent.checklist': ({ done, total }) => [`  ☑ ${done} of ${total}`],
  'agent.notice': ({ message }) => [withPrefix(printable(message))],
  'agent.ended': (event) => {
    const why = isSaidLater(event.outcome) ? [] : [withPrefix(printable(event.message))];
    return [...why, `─── ${runFigures(event)} ───`];
  },
  'wait.started': ({ why, until }) =>
    why === 'idle' || why === 'pace'
      ? [withPrefix(`${why === 'idle' ? 'Nothing to do: waiting' : 'Waiting'} until ${localTime(until)}.`)]
      : [],
  'verification.started': ({ unclaimed }) => [LIVE_TEXTS.verifying(unclaimed !== true)],
  'run.ended': ({ costUsd, report, message, text = message }) => {
    const cost = costUsd === null || report !== undefined ? '' : ` It cost ${dollarText(costUsd)}.`;
    const lines = report === undefined ? [] : reportLines(report).map(printable);
    return ['', withPrefix(`${printable(report === undefined ? message : text)}${cost}`), ...lines];
  },
};

export function runnerLines(event: RunnerEvent, attached = false): readonly string[] {
  return (LINES[event.type] as Lines<RunnerEvent['type']> | undefined)?.(event, attached) ?? [];
}

interface View {
  /** Shows an event; `loop` names its loop if several run side by side. */
  readonly tell: (event: RunnerEvent, loop?: string) => void;
  readonly live?: (controls: LiveControls) => void;
  /** Returns the loop that the keys control. */
  readonly focus?: () => string;
  readonly close: () => void;
}

/** Shows a loop of this or another process: live in a terminal, as plain lines elsewhere, as data with --json. */
export async function loopView({ values, env, mayAsk, out }: CommandContext, attached = false): Promise<View> {
  const close = (): void => undefined;
  if (values['json'] === true) {
    const tell = (event: RunnerEvent, loop?: string): void => {
      if (WHILE_WATCHED.has(event.type)) return;
      // A view that got no parts of the text has not shown it yet.
      const whole = event.type === 'agent.text' ? { type: event.type, text: event.text } : event;
      out(JSON.stringify(loop === undefined ? whole : { loop, ...whole }));
    };
    return { tell, close };
  }
  const watched = mayAsk && values['plain'] !== true;
  if (watched && env['TERM'] !== 'dumb' && inForeground()) {
    const { LiveView } = await import('../term/live/live-view.ts');
    const view = new LiveView({ input: process.stdin, output: process.stdout, env, attached });
    return {
      tell: (event, loop) => view.tell(event, loop),
      live: (controls) => view.live(controls),
      focus: () => view.focus,
      close: () => view.close(),
    };
  }
  const tell = (event: RunnerEvent, loop?: string): void => {
    const lines = runnerLines(event, attached);
    if (loop === undefined && lines.length > 0) out(lines.join('\n'));
    // The name at the beginning distinguishes the lines of several loops.
    else for (const line of lines.join('\n').split('\n')) if (line !== '') out(`[${loop}] ${line}`);
  };
  return { tell, close };
}

/** Events that no longer matter once they are over. */
const WHILE_WATCHED: ReadonlySet<string> = new Set([
  ...['command.started', 'agent.text-delta', 'tool.started', 'agent.usage'],
]);
