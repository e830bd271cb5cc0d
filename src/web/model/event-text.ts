import type { Entry } from '../../state/event-stream.ts';
import { factsText } from '../../term/facts-text.ts';

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

export function firstLine(of: string): string {
  return of.split('\n', 1)[0] ?? '';
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value);
}

export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

const MOST_TEXT = 64 * 1024;
const MOST_LIST = 2_000;
const MOST_DEPTH = 12;

/** Returns the same data with `map` applied to every text. Data that is longer, wider or deeper than any of ours is cut. */
export function mapTexts<T>(data: T, map: (text: string) => string): T {
  const mapped = (value: unknown, depth: number): unknown => {
    if (typeof value === 'string') return map(value.slice(0, MOST_TEXT));
    if (typeof value !== 'object' || value === null) return value;
    if (depth === MOST_DEPTH) return null;
    const values: readonly unknown[] = Object.values(value);
    const after = values.slice(0, MOST_LIST).map((each) => mapped(each, depth + 1));
    // Most records have no text to change, and a copy of each takes longer than all the rest.
    if (after.length === values.length && after.every((each, at) => each === values[at])) return value;
    if (Array.isArray(value)) return after;
    const keys = Object.keys(value);
    return Object.fromEntries(after.map((each, at) => [keys[at], each]));
  };
  return mapped(data, 0) as T;
}
