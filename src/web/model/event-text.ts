import type { Entry } from '../../state/event-stream.ts';

/** Characters of the agent's words and of a text that a decision carries. */
export const MOST_WORDS = 16_000;

const NO_DETAIL = new Set([
  'v',
  'type',
  'at',
  'loopId',
  'iteration',
  'id',
  'ids',
  'limits',
  'breaker',
  'checks',
  'resetsAt',
]);
const ROUTINE = new Set(['loop.started', 'loop.resumed']);

/** One line about a decision: its message, or what else its event says. */
export function detail(event: Entry): string {
  if (ROUTINE.has(text(event['type']))) return text(event['why']);
  if (typeof event['message'] === 'string') return event['message'].slice(0, MOST_WORDS);
  const facts = Object.entries(event).filter(([key, value]) => !NO_DETAIL.has(key) && value !== null);
  return facts
    .map(([key, value]) => `${key}: ${Array.isArray(value) ? value.map(reasonOf).join('; ') : text(value)}`)
    .join(', ')
    .slice(0, 4_000);
}

export function reasonOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : text(value);
}

export function text(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined || value === null ? '' : String(value);
}

export function stringOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

export function numberOf(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
