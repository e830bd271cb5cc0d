import type { UsageDelta } from '../../engine/events.ts';
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
