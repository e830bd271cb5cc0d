import { dollarText } from '../../text/figures.ts';
import { formatDuration, isBefore } from '../../text/time.ts';
import { type BudgetReading, tokens, type UsageDelta } from '../events.ts';
import type { Policy } from '../schema/contract.ts';
import type { UsageState, UsageWindow } from '../schema/state.ts';

/** Largest allowed limit of iterations, for a task folder and for other tasks. */
export const MOST_ITERATIONS = { folder: 50, other: 100 } as const;

/** Usage of one or several loops; a cost of null is unknown. */
export interface Spent {
  readonly costUsd: number | null;
  readonly tokens: number;
}

type Limits = Pick<Policy['budget'], 'maxCostUsd' | 'maxTokens' | 'maxTimeMs'>;

/** Reads each limit of the budget. Leaves out limits that are not set or whose use is unknown. */
export function readBudget(usage: UsageState, spentMs: number, budget: Limits): BudgetReading[] {
  return readLimits(knownSpent(usage), spentMs, budget);
}

/** Returns what a loop is known to have used; the cost covers only the runs whose cost is known. */
export function knownSpent(usage: UsageState): Spent {
  return { costUsd: usage.costUsd, tokens: billedTokens(usage) };
}

export function readLimits({ costUsd, tokens }: Spent, spentMs: number, limits: Limits): BudgetReading[] {
  const readings: BudgetReading[] = [];
  if (limits.maxCostUsd !== null && costUsd !== null) {
    const [used, limit] = [costUsd, limits.maxCostUsd];
    const text = `${dollarText(used)} of ${dollarText(limit)}`;
    readings.push({ name: 'max_cost', used, limit, text, more: String(exactCost(raised(used, limit))) });
  }
  if (limits.maxTokens !== null) {
    const [used, limit] = [tokens, limits.maxTokens];
    const text = `${used} of ${limit} tokens`;
    readings.push({ name: 'max_tokens', used, limit, text, more: String(raised(used, limit)) });
  }
  if (limits.maxTimeMs !== null) {
    const [used, limit] = [spentMs, limits.maxTimeMs];
    const text = `${formatDuration(used)} of ${formatDuration(limit)}`;
    const more = formatDuration(raised(used, limit)).replaceAll(' ', '');
    readings.push({ name: 'max_time', used, limit, text, more });
  }
  return readings;
}

/** Returns the smallest multiple of a limit that is not used up. */
function raised(used: number, limit: number): number {
  return limit * (Math.floor(used / limit + ROUNDING) + 1);
}

export function totalCost({ costUsd, unpricedRuns = 0 }: UsageState): number | null {
  return unpricedRuns > 0 ? null : costUsd;
}

export function spentOf(usage: UsageState): Spent {
  const tokens = billedTokens(usage);
  return { costUsd: tokens === 0 ? 0 : totalCost(usage), tokens };
}

export function isCostUnknown(
  { unpricedRuns = 0, unpricedAccepted = 0 }: UsageState,
  budget: Policy['budget'],
): boolean {
  return budget.maxCostUsd !== null && unpricedRuns > unpricedAccepted;
}

/** Returns the account limit that has reached its share and has not reset since; null if there is none. */
export function reachedWindow(
  limits: readonly UsageWindow[] | undefined,
  { stopAt }: Policy['budget'],
  at: string,
): UsageWindow | null {
  const isReached = ({ name, used, resetsAt }: UsageWindow): boolean => {
    const share = stopAt?.[name] ?? null;
    return share !== null && used >= share && (resetsAt === null || isBefore(at, resetsAt));
  };
  return limits?.find(isReached) ?? null;
}

/** Usage of an agent run since the last report. `costUsd` is null while unknown. */
export interface RunUsage {
  readonly usage: UsageDelta;
  readonly costUsd: number | null;
  /** 1 for the first tokens of a run, -1 once the client has reported their cost. */
  readonly unpriced: -1 | 0 | 1;
}

export function addRunUsage(before: UsageState, { usage, costUsd, unpriced }: RunUsage): UsageState {
  const { unpricedRuns, ...known } = addUsage(before, usage, null);
  const runs = (unpricedRuns ?? 0) + unpriced;
  const cost = costUsd === null ? before.costUsd : exactCost((before.costUsd ?? 0) + costUsd);
  return { ...known, costUsd: cost, ...(runs > 0 && { unpricedRuns: runs }) };
}

/** Tolerance, because sums of fractions of a dollar are not exact. */
const ROUNDING = 1e-6;

/** Rounds away the error of binary fractions: the client reports at most eight decimals. */
export function exactCost(usd: number): number {
  return Math.round(usd * 1e10) / 1e10;
}

/** Adds one turn to the loop's usage. `costUsd` is the client's cumulative figure for its session. */
export function addUsage(usage: UsageState, delta: UsageDelta | null, costUsd: number | null): UsageState {
  return { ...usage, ...tokens((kind) => usage[kind] + (delta?.[kind] ?? 0)), ...cost(usage, costUsd) };
}

function cost(usage: UsageState, figure: number | null): Pick<UsageState, 'costUsd' | 'costBaseUsd'> {
  if (figure === null) return { costUsd: usage.costUsd, costBaseUsd: usage.costBaseUsd };
  const spent = usage.costUsd ?? 0;
  // A figure below the last one comes from a new session; earlier costs still count.
  const known = usage.costBaseUsd ?? Number.POSITIVE_INFINITY;
  const base = figure < known + spent - ROUNDING ? 0 - spent : known;
  return { costUsd: exactCost(Math.max(spent, figure - base)), costBaseUsd: base };
}

/** What a loop may still use; null: no limit. */
export interface Allowance {
  readonly costUsd: number | null;
  readonly tokens: number | null;
  readonly timeMs: number | null;
}

/** Returns what is left of a budget. An unknown cost counts as zero. */
export function allowanceOf(
  { costUsd, tokens }: Spent,
  spentMs: number,
  { maxCostUsd, maxTokens, maxTimeMs }: Limits,
): Allowance {
  const left = (limit: number | null, used: number): number | null => limit && Math.max(0, limit - used);
  return { costUsd: left(maxCostUsd, costUsd ?? 0), tokens: left(maxTokens, tokens), timeMs: left(maxTimeMs, spentMs) };
}

export function smallerAllowance(one: Allowance, other: Allowance | undefined): Allowance {
  const least = (a: number | null, b: number | null | undefined): number | null =>
    a === null || b == null ? (a ?? b ?? null) : Math.min(a, b);
  return {
    costUsd: least(one.costUsd, other?.costUsd),
    tokens: least(one.tokens, other?.tokens),
    timeMs: least(one.timeMs, other?.timeMs),
  };
}

/** Returns the tokens that `max_tokens` counts. */
export function billedTokens({ inputTokens, outputTokens, cacheWriteTokens }: UsageDelta): number {
  return inputTokens + outputTokens + cacheWriteTokens;
}
