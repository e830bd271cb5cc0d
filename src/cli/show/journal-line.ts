import { dollarText, reasonLines } from '../../engine/messages.ts';
import { localTime } from '../../term/figures.ts';
import { type Paint, printable } from '../../term/paint.ts';
import { formatDuration } from '../../text/duration.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Formats a journal entry for people. Unknown types are shown as they are: newer versions add some. */
export function journalLine(entry: Entry, paint: Paint): string {
  const at = String(entry['at'] ?? entry['endedAt'] ?? '');
  const what = typeof entry['type'] === 'string' ? eventText(entry, entry['type'], paint) : iterationText(entry, paint);
  return `${paint('dim', localTime(at))}  ${what}`;
}

function iterationText(entry: Entry, paint: Paint): string {
  const { kind, iteration, idleIterations, durationMs, findings, toolCalls, deniedCalls, outputTokens, decision } =
    entry;
  const costUsd = (entry['agent'] as { costUsd?: unknown } | undefined)?.costUsd;
  const name = kind === 'idle' ? `idle ${idleIterations}` : `iteration ${iteration}`;
  const parts = [
    typeof durationMs === 'number' ? formatDuration(durationMs) : '',
    typeof findings === 'number' ? `${findings} findings` : '',
    typeof toolCalls === 'number' ? `${toolCalls} tool calls` : '',
    typeof deniedCalls === 'number' && deniedCalls > 0 ? paint('yellow', `${deniedCalls} denied`) : '',
    typeof outputTokens === 'number' ? `${outputTokens} tokens out` : '',
    typeof costUsd === 'number' ? dollarText(costUsd) : '',
  ].filter((part) => part !== '');
  return `${paint('bold', name)}  ${parts.join(', ')}  -> ${printable(String(decision ?? '?'))}`;
}

const NOT_DETAILS = new Set(['type', 'at', 'loopId', 'iteration', 'message', 'status', 'reasons']);

function eventText(entry: Entry, type: string, paint: Paint): string {
  const colour = /ended|rejected|failed|overridden|warning/.test(type) ? 'yellow' : 'cyan';
  const details = Object.entries(entry)
    .filter(([key, value]) => !NOT_DETAILS.has(key) && value !== null && value !== undefined)
    .map(([key, value]) => `${key}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const shown = [entry['status'], entry['message'], ...details].filter((part) => typeof part === 'string');
  const line =
    `${paint(colour, printable(type))}  ${printable(shown.join('; ')).replace(/\s*\n\s*/g, ' / ')}`.trimEnd();
  const reasons = Array.isArray(entry['reasons']) ? entry['reasons'].map(String) : [];
  return [line, ...reasons.flatMap(reasonLines).map(printable)].join('\n');
}
