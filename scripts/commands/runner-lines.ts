import { formatDuration } from '../../src/core/duration.ts';
import type { RunnerEvent } from '../../src/core/runner-event.ts';
import { said } from '../../src/drive/texts.ts';
import { printable } from '../../src/term/printable.ts';

/** What a person reads of an event, line by line; nothing for one that says nothing to people. */
export function runnerLines(event: RunnerEvent): readonly string[] {
  switch (event.type) {
    case 'loop-started':
      return [
        said(`loop ${event.name ?? event.loopId}, task ${event.taskPath}. Ctrl+C once stops after the iteration.`),
      ];
    case 'iteration-started':
      return ['', `─── Iteration ${event.iteration} of ${event.maxIterations} ───`];
    case 'command-ran':
      return [`  ${event.outcome === 'ok' ? '✓' : '✗'} ${event.name} (${time(event.durationMs)})`];
    case 'text':
      return [printable(event.text)];
    case 'tool-call': {
      const indent = event.nested ? '    ' : '  ';
      return [`${indent}${event.outcome === 'ok' ? '✓' : '✗'} ${printable(`${event.tool} ${event.about}`).trimEnd()}`];
    }
    case 'notice':
      return [said(printable(event.message))];
    case 'agent-ended': {
      // An agent that does not tell of its turns tells of no cost either.
      const told =
        event.turns === null ? [] : [`${event.turns} turn${event.turns === 1 ? '' : 's'}`, dollars(event.costUsd)];
      const parts = [time(event.durationMs), ...told];
      const why = event.outcome === 'ok' ? [] : [said(printable(event.message))];
      return [...why, `─── ${parts.join(' │ ')} ───`];
    }
    case 'waiting':
      return event.why === 'idle' || event.why === 'pace' ? [said(`${event.why}: waiting until ${event.until}.`)] : [];
    case 'verifying':
      return [said('completion claimed; checking it.')];
    case 'loop-ended': {
      const cost = event.costUsd === null ? '' : ` It cost ${dollars(event.costUsd)}.`;
      return ['', said(`${event.status}: ${printable(event.message)}${cost}`)];
    }
    default:
      return event satisfies never;
  }
}

/** Whole seconds: nobody reads more. */
function time(milliseconds: number): string {
  return milliseconds < 1000 ? `${milliseconds}ms` : formatDuration(Math.round(milliseconds / 1000) * 1000);
}

function dollars(amount: number | null): string {
  if (amount === null) return '$?';
  return `$${amount < 0.01 && amount > 0 ? amount.toFixed(4) : amount.toFixed(2)}`;
}
