import { counted, reasonLines } from '../../engine/messages.ts';
import type { Entry } from '../../state/event-stream.ts';
import { factsText } from '../../term/facts-text.ts';
import { type Paint, printable } from '../../term/format.ts';
import { dollarText, timeText } from '../../text/figures.ts';
import type { MessageContext } from '../../text/message.ts';
import { localTime } from '../../text/time.ts';
import { figuresOf } from './iteration-table.ts';

/**
 * Formats a journal entry for people; with a loop, long output is cut, and the command that shows it is named. Unknown types,
 * which newer versions may add, are shown unchanged.
 */
export function journalLine(entry: Entry, paint: Paint, loop?: MessageContext): string {
  const { type, at = entry['endedAt'] ?? '' } = entry;
  const isEvent = typeof type === 'string' && type !== 'iteration.ended';
  const what = isEvent ? eventText(entry, type, paint, loop) : iterationText(entry, paint);
  return `${paint('dim', localTime(String(at)))}  ${what}`;
}

function iterationText(entry: Entry, paint: Paint): string {
  const { kind, iteration, idleIterations, durationMs, findings, toolCalls, deniedCalls, decision } = entry;
  const { tokens, cost } = figuresOf(entry);
  const name = kind === 'idle' ? `idle ${idleIterations}` : `iteration ${iteration}`;
  const parts = [
    typeof durationMs === 'number' ? timeText(durationMs) : '',
    typeof findings === 'number' ? counted(findings, 'finding') : '',
    typeof toolCalls === 'number' ? counted(toolCalls, 'tool call') : '',
    typeof deniedCalls === 'number' && deniedCalls > 0 ? paint('yellow', `${deniedCalls} denied`) : '',
    tokens === null ? '' : `${tokens.toLocaleString('en')} tokens`,
    cost === null ? '' : dollarText(cost),
  ].filter((part) => part !== '');
  return `${paint('bold', name)}  ${parts.join(', ')}  -> ${printable(String(decision ?? '?'))}`;
}

const NOT_DETAILS = new Set(
  'v type at id delivery loopId iteration message status reasons from processes changes digest terms breaker report'.split(
    ' ',
  ),
);

/** Size limit, longer than any event that this program writes. */
const MOST_TEXT = 64 * 1024;

function eventText(entry: Entry, type: string, paint: Paint, loop?: MessageContext): string {
  const colour = /ended|rejected|failed|overridden|warning/.test(type) ? 'yellow' : 'cyan';
  const message = entry['outcome'] === 'ok' ? undefined : entry['message'];
  // The message comes last because it is a complete sentence.
  const isSaid = (key: string): boolean => typeof entry[key] === 'string' && String(message).startsWith(entry[key]);
  const parts = [entry['status'], factsText(entry, (key) => !NOT_DETAILS.has(key) && !isSaid(key)), message];
  const shown = parts.filter((part) => typeof part === 'string' && part).join('; ');
  const oneLine = printable(shown.slice(0, MOST_TEXT)).replace(/\s*\n\s*/g, ' / ');
  const line = `${paint(colour, printable(type))}  ${oneLine}`.trimEnd();
  const cut = loop === undefined ? { most: Number.POSITIVE_INFINITY } : { loop };
  const reasons = Array.isArray(entry['reasons']) ? entry['reasons'].map(String) : [];
  return [line, ...reasons.flatMap((reason) => reasonLines(reason, cut)).map(printable)].join('\n');
}
