import type { UsageDelta } from './events.ts';
import type { UsageState } from './schema/state.ts';

/** Sums of fractions of a dollar are not exact. */
const ROUNDING = 1e-6;

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
  const spent = usage.costUsd ?? 0;
  // A figure below the last one comes from a new session: what was spent before stays spent.
  const known = usage.costBaseUsd ?? Number.POSITIVE_INFINITY;
  const base = figure < known + spent - ROUNDING ? 0 - spent : known;
  return { costUsd: Math.max(spent, figure - base), costBaseUsd: base };
}
