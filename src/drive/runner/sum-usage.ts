import type { UsageDelta } from '../../core/events.ts';

/** The agent's own word for what it has used, of several runs. */
export function sumUsage(one: UsageDelta | null, other: UsageDelta | null): UsageDelta | null {
  if (one === null || other === null) return one ?? other;
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    cacheReadTokens: one.cacheReadTokens + other.cacheReadTokens,
    cacheWriteTokens: one.cacheWriteTokens + other.cacheWriteTokens,
  };
}

/** The same of what they cost, in US dollars. */
export function sumCost(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : one + other;
}
