import { counted, dollarText, timeText } from '../text/figures.ts';
import { localTime } from '../text/time.ts';

/** Text of a detail that needs no name; '' for a detail without meaning, null for a value of another kind. */
const FIGURES: Readonly<Record<string, (value: unknown) => string | null>> = {
  taskPath: (value) => String(value),
  outcome: (value) => String(value),
  model: (value) => String(value),
  maxIterations: (value) => `limit of iterations ${value}`,
  verified: (value) => (value === true ? 'verified' : 'not verified'),
  proof: (value) => (value === 'none' ? 'no proof' : String(value).replaceAll('-', ' ')),
  durationMs: (value) => (typeof value === 'number' ? timeText(value) : null),
  turns: (value) => (typeof value === 'number' ? counted(value, 'turn') : null),
  toolCalls: (value) => (typeof value === 'number' ? counted(value, 'tool call') : null),
  costUsd: (value) => (typeof value === 'number' ? dollarText(value) : null),
  consecutiveIdle: (value) => (value === 1 ? 'nothing to do' : `nothing to do ${value} times in a row`),
  delayMs: (value) => (typeof value === 'number' && value > 0 ? `waits ${timeText(value)}` : ''),
  idleElapsedMs: (value) => (typeof value === 'number' && value > 0 ? `idle for ${timeText(value)}` : ''),
  resetsAt: (value) => `resets at ${localTime(String(value))}`,
  until: (value) => `until ${localTime(String(value))}`,
  text: (value) => (typeof value === 'string' ? value : null),
  why: byWhom,
  reason: byWhom,
  usage: (value) => {
    const tokens = tokensOf(value);
    return tokens === null ? null : `${tokens.toLocaleString('en')} tokens`;
  },
};

function byWhom(value: unknown): string {
  return value === 'operator' ? 'by you' : String(value);
}

/** Kinds of tokens that make up an iteration's tokens, as for `max_tokens`. */
const TOKENS = ['inputTokens', 'outputTokens', 'cacheWriteTokens'];

/** Returns the tokens of a usage record from a journal, which may contain anything; null if there are none. */
export function tokensOf(usage: unknown): number | null {
  const fields = typeof usage === 'object' && usage !== null ? (usage as Readonly<Record<string, unknown>>) : {};
  const isCount = (value: unknown): value is number => Number.isFinite(value) && Number(value) >= 0;
  const counts = TOKENS.map((name) => fields[name]).filter(isCount);
  return counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0);
}

/** Splits the name of a key, without its unit: `contractHash` is "contract hash", `maxIdleMs` "max idle". */
function inWords(key: string): string {
  return key.replace(/(?<=[a-z])(?:Ms|Usd)$/, '').replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Formats a value in words, and a list or an object by its parts; empty for a value without content. */
function valueText(value: unknown, key = ''): string {
  if (typeof value === 'number' && key.endsWith('Ms')) return timeText(value);
  if (typeof value === 'number' && key.endsWith('Usd')) return dollarText(value);
  if (typeof value !== 'object' || value === null) return String(value ?? '');
  const parts = Object.entries(value).map(([name, part]) => {
    const text = valueText(part, name);
    return Array.isArray(value) || text === '' ? text : `${inWords(name)} ${text}`;
  });
  return parts.filter((text) => text !== '').join(', ');
}

/** Describes an event of the journal in words, by those of its keys that `isShown` accepts. */
export function factsText(entry: Readonly<Record<string, unknown>>, isShown: (key: string) => boolean): string {
  return Object.entries(entry)
    .filter(([key, value]) => isShown(key) && valueText(value) !== '')
    .map(([key, value]) => FIGURES[key]?.(value) ?? `${inWords(key)}: ${valueText(value, key)}`)
    .filter((text) => text !== '')
    .join(', ');
}
