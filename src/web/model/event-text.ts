import type { Entry } from '../../state/event-stream.ts';
import { factsText } from '../../term/facts-text.ts';
import { firstLine } from '../../text/quote.ts';
import type { Breaker } from './report-data.ts';

/** Maximum number of characters of the agent's words and of a decision's text. */
export const MOST_WORDS = 16_000;

const NO_DETAIL = /^(?:v|type|at|loopId|iteration|ids?|limits|breaker|checks|resetsAt)$/;
const ROUTINE = new Set(['loop.started', 'loop.resumed']);

/** Returns one line about a decision: its message, or its other facts. */
export function detail(event: Entry): string {
  if (ROUTINE.has(text(event['type']))) return factsText(event, (key) => key === 'why');
  if (event['type'] === 'completion.rejected') return reasonsOf(event).map(firstLine).join('; ').slice(0, 4_000);
  if (typeof event['message'] === 'string') return event['message'].slice(0, MOST_WORDS);
  return factsText(event, (key) => !NO_DETAIL.test(key)).slice(0, 4_000);
}

/** Returns why a claim was rejected: a text for each result, with the output of the check below its first line. */
export function reasonsOf(event: Entry): string[] {
  const reasons = event['reasons'];
  const list: readonly unknown[] = Array.isArray(reasons) ? reasons : [];
  return list.map((value) => (typeof value === 'object' && value !== null ? JSON.stringify(value) : text(value)));
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value);
}

export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** Returns the signal with the largest share of its threshold, or null. A threshold of 0 disables a signal. */
export function breakerLevel(repeats: unknown, thresholds: unknown): Breaker | null {
  if (typeof repeats !== 'object' || repeats === null) return null;
  const limits = (thresholds ?? {}) as Record<string, unknown>;
  let nearest: Breaker | null = null;
  for (const [signal, count] of Object.entries(repeats)) {
    const [threshold, seen] = [numberOf(limits[signal]) ?? 0, numberOf(count)];
    if (threshold <= 0 || seen === null) continue;
    if (nearest === null || seen / threshold > nearest.repeats / nearest.threshold)
      nearest = { signal, repeats: seen, threshold };
  }
  return nearest;
}

const MOST_TEXT = 64 * 1024;
const MOST_LIST = 2_000;
const MOST_DEPTH = 12;

/** Returns the same data with `map` applied to every text. Data longer, wider or deeper than any of ours are cut. */
export function mapTexts<T>(data: T, map: (text: string) => string): T {
  const mapped = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return map(value.length > MOST_TEXT ? value.slice(0, MOST_TEXT) : value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth === MOST_DEPTH) return null;
    const keys = Object.keys(value);
    const from = value as Readonly<Record<string, unknown>>;
    // Most records have no text to change, and copying each would take longer than all the rest.
    let copy: Record<string, unknown> | null = keys.length > MOST_LIST ? {} : null;
    for (let at = 0; at < Math.min(keys.length, MOST_LIST); at++) {
      const key = keys[at] ?? '';
      const after = mapped(from[key], depth + 1);
      if (copy === null && after !== from[key])
        copy = Object.fromEntries(keys.slice(0, at).map((each) => [each, from[each]]));
      if (copy !== null) copy[key] = after;
    }
    if (copy === null) return value;
    return Array.isArray(value) ? Object.values(copy) : copy;
  };
  return mapped(data, 0) as T;
}
