import { withPrefix } from '../../drive/turn/messages.ts';
import { reportLines } from '../../engine/end-report.ts';
import { dollarText } from '../../engine/messages.ts';
import type { RunnerEvent, Tell } from '../../engine/runner-event.ts';
import { costText, deniedText, timeText, turnsText } from '../../term/figures.ts';
import type { LiveControls } from '../../term/live/live-view.ts';
import { printable } from '../../term/paint.ts';
import { inForeground } from '../../term/write-text.ts';
import type { CommandContext } from '../command.ts';

/** Returns the lines that show an event to people; none if it says nothing to them. */
export function runnerLines(event: RunnerEvent, attached = false): readonly string[] {
  switch (event.type) {
    case 'loop-started':
      return [
        withPrefix(
          `loop ${event.name ?? event.loopId}, task ${event.taskPath}. Ctrl+C ${attached ? 'leaves it running' : 'once stops after the iteration'}.`,
        ),
      ];
    case 'iteration-started':
      return ['', `─── Iteration ${event.iteration} of ${event.maxIterations} ───`];
    case 'command-ran':
      return [`  ${event.outcome === 'ok' ? '✓' : '✗'} ${event.name} (${timeText(event.durationMs)})`];
    case 'text':
      return [printable(event.text)];
    case 'tool-call': {
      const indent = event.nested ? '    ' : '  ';
      const label = printable(`${event.tool} ${event.about}`).trimEnd();
      const line = `${indent}${event.outcome === 'ok' ? '✓' : '✗'} ${label} (${timeText(event.durationMs)})`;
      return event.outcome === 'denied' ? [line, `${indent}  ${printable(deniedText(event))}`] : [line];
    }
    case 'steered':
      return [withPrefix('the agent was told what you said.')];
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
      // An agent that does not report its turns does not report its cost either.
      const figures = event.turns === null ? [] : [turnsText(event.turns), costText(event.costUsd)];
      const parts = [timeText(event.durationMs), ...figures];
      const why = event.outcome === 'ok' ? [] : [withPrefix(printable(event.message))];
      return [...why, `─── ${parts.join(' │ ')} ───`];
    }
    case 'waiting':
      return event.why === 'idle' || event.why === 'pace'
        ? [withPrefix(`${event.why}: waiting until ${event.until}.`)]
        : [];
    case 'verifying':
      return [withPrefix('completion claimed; checking it.')];
    case 'loop-ended': {
      const cost = event.costUsd === null ? '' : ` It cost ${dollarText(event.costUsd)}.`;
      const report = event.report === undefined ? [] : reportLines(event.report).map(printable);
      return ['', withPrefix(`${printable(event.message)}${cost}`), ...report];
    }
    default:
      return event satisfies never;
  }
}

interface View {
  readonly tell: Tell;
  readonly live?: (controls: LiveControls) => void;
  readonly close: () => void;
}

/** Shows a loop, of this process or another: live in a terminal, in plain lines elsewhere, as data with --json. */
export async function loopView({ values, env, mayAsk, out }: CommandContext, attached = false): Promise<View> {
  const close = (): void => undefined;
  if (values['json'] === true) {
    return { tell: (event) => (WHILE_WATCHED.has(event.type) ? undefined : out(JSON.stringify(event))), close };
  }
  const watched = mayAsk && values['plain'] !== true;
  if (watched && env['TERM'] !== 'dumb' && inForeground()) {
    const { liveView } = await import('../../term/live/live-view.ts');
    return liveView(process.stdin, process.stdout, env, attached);
  }
  const tell: Tell = (event) => {
    const lines = runnerLines(event, attached);
    if (lines.length > 0) out(lines.join('\n'));
  };
  return { tell, close };
}

/** Events that say nothing once they are over. */
const WHILE_WATCHED: ReadonlySet<string> = new Set(['command-started', 'text-delta', 'tool-started', 'usage']);
