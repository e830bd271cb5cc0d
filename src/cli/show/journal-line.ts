import { dollarText, reasonLines } from '../../engine/messages.ts';
import { timeText } from '../../term/figures.ts';
import { type Paint, printable } from '../../term/paint.ts';
import { localTime } from '../../text/instant.ts';
import { figuresOf } from './iteration-table.ts';

type Entry = Readonly<Record<string, unknown>>;

/** Formats a journal entry for people. Unknown types are shown as they are: newer versions add some. */
export function journalLine(entry: Entry, paint: Paint): string {
  const { type, at = entry['endedAt'] ?? '' } = entry;
  const isEvent = typeof type === 'string' && type !== 'iteration.ended';
  const what = isEvent ? eventText(entry, type, paint) : iterationText(entry, paint);
  return `${paint('dim', localTime(String(at)))}  ${what}`;
}

function iterationText(entry: Entry, paint: Paint): string {
  const { kind, iteration, idleIterations, durationMs, findings, toolCalls, deniedCalls, decision } = entry;
  const costUsd = (entry['agent'] as { costUsd?: unknown } | undefined)?.costUsd;
  const name = kind === 'idle' ? `idle ${idleIterations}` : `iteration ${iteration}`;
  const parts = [
    typeof durationMs === 'number' ? timeText(durationMs) : '',
    typeof findings === 'number' ? `${findings} findings` : '',
    typeof toolCalls === 'number' ? `${toolCalls} tool calls` : '',
    typeof deniedCalls === 'number' && deniedCalls > 0 ? paint('yellow', `${deniedCalls} denied`) : '',
    tokensText(entry) ?? '',
    typeof costUsd === 'number' ? dollarText(costUsd) : '',
  ].filter((part) => part !== '');
  return `${paint('bold', name)}  ${parts.join(', ')}  -> ${printable(String(decision ?? '?'))}`;
}

const NOT_DETAILS = new Set(
  'v type at loopId iteration message status reasons from processes changes digest terms breaker'.split(' '),
);

/** Longer than any event that this program writes. */
const MOST_TEXT = 64 * 1024;

/** Text of a detail that needs no name; '' for one that says nothing, null for a value of another kind. */
const FIGURES: Readonly<Record<string, (value: unknown) => string | null>> = {
  taskPath: (value) => String(value),
  outcome: (value) => String(value),
  model: (value) => String(value),
  maxIterations: (value) => `limit of iterations ${value}`,
  verified: (value) => (value === true ? 'verified' : 'not verified'),
  durationMs: (value) => (typeof value === 'number' ? timeText(value) : null),
  turns: (value) => `${value} turns`,
  toolCalls: (value) => `${value} tool calls`,
  costUsd: (value) => (typeof value === 'number' ? dollarText(value) : null),
  consecutiveIdle: (value) => (value === 1 ? 'nothing to do' : `nothing to do ${value} times in a row`),
  delayMs: (value) => (typeof value === 'number' && value > 0 ? `waits ${timeText(value)}` : ''),
  idleElapsedMs: (value) => (typeof value === 'number' && value > 0 ? `idle for ${timeText(value)}` : ''),
  resetsAt: (value) => `resets at ${localTime(String(value))}`,
  why: (value) => String(value),
  reason: (value) => String(value),
  usage: (value) => tokensText({ agent: { usage: value } }),
};

function tokensText(entry: Entry): string | null {
  const { tokens } = figuresOf(entry);
  return tokens === null ? null : `${tokens.toLocaleString('en')} tokens`;
}

/** Splits the name of a key: `contractHash` is "contract hash". */
const inWords = (key: string): string => key.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);

/** Formats a value in words, a list or an object by its parts; empty for a value without content. */
function valueText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  const parts = Object.entries(value).map(([key, part]) => [Array.isArray(value) ? '' : `${key} `, valueText(part)]);
  return parts.flatMap(([name, text]) => (text === '' ? [] : `${name}${text}`)).join(', ');
}

function eventText(entry: Entry, type: string, paint: Paint): string {
  const colour = /ended|rejected|failed|overridden|warning/.test(type) ? 'yellow' : 'cyan';
  const details = Object.entries(entry)
    .filter(([key, value]) => !NOT_DETAILS.has(key) && valueText(value) !== '')
    .map(([key, value]) => FIGURES[key]?.(value) ?? `${inWords(key)}: ${valueText(value)}`)
    .filter((text) => text !== '');
  const message = entry['outcome'] === 'ok' ? undefined : entry['message'];
  const shown = [entry['status'], message, details.join(', ')].filter((part) => typeof part === 'string' && part);
  const line =
    `${paint(colour, printable(type))}  ${printable(shown.join('; ').slice(0, MOST_TEXT)).replace(/\s*\n\s*/g, ' / ')}`.trimEnd();
  const reasons = Array.isArray(entry['reasons']) ? entry['reasons'].map(String) : [];
  return [line, ...reasons.flatMap(reasonLines).map(printable)].join('\n');
}
