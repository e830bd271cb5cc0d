import { elapsed } from './clock.ts';
import { dollarText } from './dollar-text.ts';
import { formatDuration } from './duration.ts';
import type { Policy } from './schema/policy.ts';
import type { UsageState } from './schema/state.ts';

export interface BudgetReading {
  readonly name: 'max_cost' | 'max_tokens' | 'max_time';
  readonly used: number;
  readonly limit: number;
  /** `used of limit`, for people. */
  readonly text: string;
}

/** What each ceiling of the budget reads now. A ceiling that is not set, or whose use is unknown, is left out. */
export function readBudget(
  usage: UsageState,
  startedAt: string,
  at: string,
  budget: Policy['budget'],
): BudgetReading[] {
  const readings: BudgetReading[] = [];
  if (budget.maxCostUsd !== null && usage.costUsd !== null) {
    const [used, limit] = [usage.costUsd, budget.maxCostUsd];
    readings.push({ name: 'max_cost', used, limit, text: `${dollarText(used)} of ${dollarText(limit)}` });
  }
  if (budget.maxTokens !== null) {
    const [used, limit] = [usage.inputTokens + usage.outputTokens + usage.cacheWriteTokens, budget.maxTokens];
    readings.push({ name: 'max_tokens', used, limit, text: `${used} of ${limit} tokens` });
  }
  if (budget.maxTimeMs !== null) {
    const [used, limit] = [elapsed(startedAt, at), budget.maxTimeMs];
    readings.push({ name: 'max_time', used, limit, text: `${formatDuration(used)} of ${formatDuration(limit)}` });
  }
  return readings;
}
