import type { UsageDelta } from './events.ts';
import type { UsageState } from './schema/state.ts';

/**
 * The loop's usage with one turn added. `costUsd` is the client's own cumulative figure for its session; the loop's
 * part is what came on top since the loop began there, and never shrinks.
 */
export function addUsage(usage: UsageState, delta: UsageDelta | null, costUsd: number | null): UsageState {
  return {
    inputTokens: usage.inputTokens + (delta?.inputTokens ?? 0),
    outputTokens: usage.outputTokens + (delta?.outputTokens ?? 0),
    cacheReadTokens: usage.cacheReadTokens + (delta?.cacheReadTokens ?? 0),
    cacheWriteTokens: usage.cacheWriteTokens + (delta?.cacheWriteTokens ?? 0),
    ...cost(usage, costUsd),
  };
}

function cost(usage: UsageState, figure: number | null): Pick<UsageState, 'costUsd' | 'costBaseUsd'> {
  if (figure === null) return { costUsd: usage.costUsd, costBaseUsd: usage.costBaseUsd };
  // A figure below the base comes from a new session: what was spent before stays spent.
  const base = usage.costBaseUsd === null || figure < usage.costBaseUsd ? 0 - (usage.costUsd ?? 0) : usage.costBaseUsd;
  return { costUsd: Math.max(usage.costUsd ?? 0, figure - base), costBaseUsd: base };
}
