import { reasonLines, type ShownReason } from '../../engine/messages.ts';
import { fieldsOf } from '../../hosts/fields.ts';
import type { Entry } from '../../state/event-stream.ts';
import { factsText, tokensOf } from '../../term/facts-text.ts';
import { fittedTable, type Paint, printable } from '../../term/format.ts';
import { costText, counted, dollarText, timeText } from '../../text/figures.ts';
import { oneLine } from '../../text/quote.ts';
import { followingWords } from '../../text/status-words.ts';
import { localTime } from '../../text/time.ts';

const WHOLE: ShownReason = { most: Number.POSITIVE_INFINITY };

/**
 * Formats a journal entry for people; `cut` limits the output shown with its reasons, by default not at all. Unknown types,
 * which newer versions may add, are shown unchanged.
 */
export function journalLine(entry: Entry, paint: Paint, cut: ShownReason = WHOLE): string {
  const { type, at = entry['endedAt'] ?? '' } = entry;
  const isEvent = typeof type === 'string' && type !== 'iteration.ended';
  const what = isEvent ? eventText(entry, type, paint, cut) : iterationText(entry, paint);
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
  return `${paint('bold', name)}  ${parts.join(', ')}  -> ${printable(followingWords(String(decision ?? '?')))}`;
}

const NOT_DETAILS = new Set(
  'v type at id delivery loopId iteration message status reasons from processes changes digest terms breaker report'.split(
    ' ',
  ),
);

/** Size limit: longer than any event that this program writes. */
const MOST_TEXT = 64 * 1024;

function eventText(entry: Entry, type: string, paint: Paint, cut: ShownReason): string {
  const colour = /ended|rejected|failed|overridden|warning/.test(type) ? 'yellow' : 'cyan';
  const message = entry['outcome'] === 'ok' ? undefined : entry['message'];
  // The message comes last, because it is a complete sentence.
  const isSaid = (key: string): boolean => typeof entry[key] === 'string' && String(message).startsWith(entry[key]);
  const parts = [entry['status'], factsText(entry, (key) => !NOT_DETAILS.has(key) && !isSaid(key)), message];
  const shown = parts.filter((part) => typeof part === 'string' && part).join('; ');
  const oneLine = printable(shown.slice(0, MOST_TEXT)).replace(/\s*\n\s*/g, ' / ');
  const line = `${paint(colour, printable(type))}  ${oneLine}`.trimEnd();
  const reasons = Array.isArray(entry['reasons']) ? entry['reasons'].map(String) : [];
  return [line, ...reasons.flatMap((reason) => reasonLines(reason, cut)).map(printable)].join('\n');
}

const COLUMNS = ['iteration', 'kind', 'time', 'cost', 'tokens', 'findings', 'then'];
/** Columns that a narrow table omits, in this order. */
const LESS_NEEDED = ['kind', 'findings', 'tokens', 'time'];

/** Formats iteration records as a table of at most `width` columns if possible; `-` is unknown. Omits a column that is unknown for all. */
export function iterationTable(entries: readonly Entry[], paint: Paint, width: number): string {
  const columns = COLUMNS.map((name) => [name, ...entries.map((entry) => cellOf(entry, name))]);
  const known = columns.filter(([, ...values]) => values.some((value) => value !== '-'));
  const [head = '', ...rows] = fittedTable(known, LESS_NEEDED, width);
  return [paint('dim', head), ...rows].join('\n');
}

function figuresOf(entry: Entry) {
  const agent = fieldsOf(entry['agent']);
  return {
    time: number(entry['durationMs']),
    cost: number(agent['costUsd']),
    tokens: tokensOf(agent['usage']) ?? number(entry['outputTokens']),
  };
}

function cellOf(entry: Entry, name: string): string {
  const { time, cost, tokens } = figuresOf(entry);
  if (name === 'time') return time === null ? '-' : timeText(time);
  if (name === 'cost') return cost === null ? '-' : costText(cost);
  if (name === 'tokens') return tokens === null ? '-' : tokens.toLocaleString('en');
  const value = name === 'then' && entry['decision'] ? followingWords(String(entry['decision'])) : entry[name];
  return value === null || value === undefined ? '-' : oneLine(printable(String(value)));
}

/** Reads a figure; null for anything else, because a journal in the project may contain anything. */
function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null;
}
