import { withPrefix } from '../../drive/turn/messages.ts';
import { reportLines } from '../../engine/end-report.ts';
import { dollarText } from '../../engine/messages.ts';
import type { RunnerEvent } from '../../engine/runner-event.ts';
import { deniedText, runFigures, timeText } from '../../term/figures.ts';
import type { LiveControls } from '../../term/live/live-view.ts';
import { LIVE_TEXTS } from '../../term/live/messages.ts';
import { printable } from '../../term/paint.ts';
import { inForeground } from '../../term/write-text.ts';
import { localTime } from '../../text/instant.ts';
import type { CommandContext } from '../command.ts';

/** Returns the lines that show an event to people; none if it says nothing to them. */
export function runnerLines(event: RunnerEvent, attached = false): readonly string[] {
  switch (event.type) {
    case 'loop-started':
      return [
        withPrefix(`${event.name === null ? 'The loop' : `Loop ${event.name}`} works on ${event.taskPath}.`),
        `Ctrl+C ${attached ? 'leaves it running' : 'once stops after the iteration'}.`,
      ];
    case 'iteration-started':
      return ['', printable(LIVE_TEXTS.iteration(event.iteration, event.maxIterations, event.task))];
    case 'command-ran':
      return [`  ${event.outcome === 'ok' ? '✓' : '✗'} ${event.name} (${timeText(event.durationMs)})`];
    case 'text':
      return [printable(event.text)];
    case 'tool-call': {
      const indent = event.nested ? '    ' : '  ';
      const label = printable(`${event.tool} ${event.about}`).trimEnd();
      const line = `${indent}${event.outcome === 'ok' ? '✓' : '✗'} ${label} (${timeText(event.durationMs)})`;
      return event.outcome === 'denied' ? [line, printable(deniedText(event))] : [line];
    }
    case 'steered':
      return [withPrefix('The agent received your message.')];
    case 'text-delta':
    case 'command-started':
    case 'tool-started':
    case 'usage':
    case 'pending':
    case 'interrupting':
    case 'after-iteration':
    case 'paused':
      return [];
    case 'checklist':
      return [`  ☑ ${event.done} of ${event.total}`];
    case 'notice':
      return [withPrefix(printable(event.message))];
    case 'agent-ended': {
      const why = event.outcome === 'ok' ? [] : [withPrefix(printable(event.message))];
      return [...why, `─── ${runFigures(event)} ───`];
    }
    case 'waiting':
      return event.why === 'idle' || event.why === 'pace'
        ? [withPrefix(`${event.why}: waiting until ${localTime(event.until)}.`)]
        : [];
    case 'verifying':
      return [withPrefix('The agent claims completion; running the checks.')];
    case 'loop-ended': {
      const cost = event.costUsd === null || event.report !== undefined ? '' : ` It cost ${dollarText(event.costUsd)}.`;
      const report = event.report === undefined ? [] : reportLines(event.report).map(printable);
      return ['', withPrefix(`${printable(event.message)}${cost}`), ...report];
    }
    default:
      return event satisfies never;
  }
}

interface View {
  /** Shows an event; `loop` names its loop where several run side by side. */
  readonly tell: (event: RunnerEvent, loop?: string) => void;
  readonly live?: (controls: LiveControls) => void;
  /** Returns the loop that the keys act on. */
  readonly focus?: () => string;
  readonly close: () => void;
}

/** Shows a loop, of this process or another: live in a terminal, in plain lines elsewhere, as data with --json. */
export async function loopView({ values, env, mayAsk, out }: CommandContext, attached = false): Promise<View> {
  const close = (): void => undefined;
  if (values['json'] === true) {
    const tell = (event: RunnerEvent, loop?: string): void => {
      if (!WHILE_WATCHED.has(event.type)) out(JSON.stringify(loop === undefined ? event : { loop, ...event }));
    };
    return { tell, close };
  }
  const watched = mayAsk && values['plain'] !== true;
  if (watched && env['TERM'] !== 'dumb' && inForeground()) {
    const { liveView } = await import('../../term/live/live-view.ts');
    return liveView(process.stdin, process.stdout, env, attached);
  }
  const tell = (event: RunnerEvent, loop?: string): void => {
    const lines = runnerLines(event, attached);
    if (loop === undefined && lines.length > 0) out(lines.join('\n'));
    // Lines of several loops are told apart by the name in front.
    else for (const line of lines.join('\n').split('\n')) if (line !== '') out(`[${loop}] ${line}`);
  };
  return { tell, close };
}

/** Events that say nothing once they are over. */
const WHILE_WATCHED: ReadonlySet<string> = new Set(['command-started', 'text-delta', 'tool-started', 'usage']);
