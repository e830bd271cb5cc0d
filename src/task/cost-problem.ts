import type { Policy } from '../core/schema/policy.ts';

/** Why a loop with this budget cannot start, or null: nobody can keep a cost limit whose cost nobody knows. */
export function costProblem(budget: Policy['budget'], costIsKnown: boolean): string | null {
  if (budget.maxCostUsd === null || costIsKnown) return null;
  return `budget.max_cost is $${budget.maxCostUsd}, but nothing tells what this loop costs: in hook mode the figure comes through our status line. Start it with the launcher, which brings the status line, or limit budget.max_tokens or budget.max_time instead.`;
}
