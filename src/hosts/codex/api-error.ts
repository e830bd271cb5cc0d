import type { UsageDelta } from '../../engine/events.ts';
import type { AgentMessage } from '../agent/agent-message.ts';
import { countOf, type Fields, fieldsOf, textOf } from '../fields.ts';

/** Returns what a line of a rollout bills; null for another line. */
export function codexBilled({ type, payload }: Fields): { readonly id: string; readonly usage: UsageDelta } | null {
  if (type !== 'token_usage_record') return null;
  const { response_id, usage } = fieldsOf(payload);
  return { id: textOf(response_id), usage: usageOf(fieldsOf(usage)) };
}

/** Reads token counts, whose input includes the cached part. */
export function usageOf(usage: Fields): UsageDelta {
  const cached = countOf(usage['cached_input_tokens']);
  const written = countOf(usage['cache_write_input_tokens']);
  return {
    inputTokens: Math.max(0, countOf(usage['input_tokens']) - cached - written),
    outputTokens: countOf(usage['output_tokens']),
    cacheReadTokens: cached,
    cacheWriteTokens: written,
  };
}

type ApiFailure = Omit<Extract<AgentMessage, { kind: 'api-error' }>, 'kind'>;

/** Codex's sentences about a failed request (0.171), and the terms that a run is classified by. Apostrophes are typographic. */
const SENTENCES: readonly (readonly [RegExp, term: string])[] = [
  [/hit your usage limit/i, 'rate_limit'],
  [/quota exceeded|billing details/i, 'billing_error'],
  [/ran out of room in the model.s context window/i, 'prompt_too_long'],
  [
    /experiencing high demand|stream disconnected|connection (?:failed|refused|reset)|error sending request/i,
    'overloaded',
  ],
];

/** Reads what Codex says about a failed turn. It gives no code with `exec`, only a sentence for people. */
export function apiFailure(message: string, now: Date = new Date()): ApiFailure {
  const status = Number(/\bstatus:? (\d{3})\b/.exec(message)?.[1] ?? Number.NaN);
  const named = SENTENCES.find(([form]) => form.test(message))?.[1];
  const term = named ?? (Number.isNaN(status) ? (message.startsWith('{') ? 'invalid_request' : 'unknown') : '');
  return {
    error: term,
    message,
    status: Number.isNaN(status) ? null : status,
    resetsAt: term === 'rate_limit' ? resetIn(message, now) : null,
  };
}

/** Returns the time in "try again at 7:34 PM" or "at Nov 30th, 2026 7:56 PM", a local one, as ISO-8601 UTC; or null. */
function resetIn(message: string, now: Date): string | null {
  const [, day, hour = '', minute = '', half = ''] =
    /\bat (?:(\w{3} \d{1,2}(?:st|nd|rd|th)?,? \d{4}) )?(\d{1,2}):(\d{2}) ([AP])M/i.exec(message) ?? [];
  if (hour === '') return null;
  const at = day === undefined ? new Date(now) : new Date(`${day.replace(/(?<=\d)(?:st|nd|rd|th)/, '')} 00:00`);
  if (Number.isNaN(at.getTime())) return null;
  at.setHours((Number(hour) % 12) + (half.toUpperCase() === 'P' ? 12 : 0), Number(minute), 0, 0);
  // A time without a day is the next one. The minute that it names may have begun.
  if (day === undefined && at.getTime() + 60_000 < now.getTime()) at.setDate(at.getDate() + 1);
  return at.toISOString();
}
