import { dollarText } from '../../text/figures.ts';
import { after, elapsed, formatDuration, isBefore } from '../../text/time.ts';
import { type BudgetReading, tokens, type UsageDelta } from '../events.ts';
import type { IdlePolicy, Policy } from '../schema/contract.ts';
import type { CommonState, IdleState, LoopState, StateOf, UsageState, UsageWindow } from '../schema/state.ts';

/** Largest limit of iterations: of a task folder, and of other tasks. */
export const MOST_ITERATIONS = { folder: 50, other: 100 } as const;

/** Usage of one or several loops; a cost of null is unknown. */
export interface Spent {
  readonly costUsd: number | null;
  readonly tokens: number;
}

type Limits = Pick<Policy['budget'], 'maxCostUsd' | 'maxTokens' | 'maxTimeMs'>;

/** Reads each limit of the budget, by the time that the loop has spent. Leaves out limits that are not set or whose use is unknown. */
export function readBudget(usage: UsageState, spentMs: number, budget: Limits): BudgetReading[] {
  return readLimits(knownSpent(usage), spentMs, budget);
}

/** Returns what a loop is known to have used: the cost is that of the runs whose cost is known. */
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

/** Returns the first multiple of a limit that is not used up. */
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

/** What a loop may still use; null is no limit. */
export interface Allowance {
  readonly costUsd: number | null;
  readonly tokens: number | null;
  readonly timeMs: number | null;
}

/** Returns what is left of a budget. An unknown cost counts as none. */
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

/**
 * Returns the milliseconds in which the loop has run or waited since its start: what `max_time` counts. Time does not count
 * while the loop is paused or awaits consent, between its end and its resume, and while its machine sleeps.
 */
export function timeSpent(state: LoopState, at: string): number {
  const until = uncountedSince(state, at) ?? at;
  const { startedAt, stoppedMs = 0 } = state;
  return Math.max(0, elapsed(startedAt, until) - elapsed(until, startedAt) - stoppedMs);
}

/** Returns the state on a clock that was set back since its last decision: the times of the loop and of its idle streak stay. */
export function onThisClock<S extends LoopState>(state: S, at: string): S {
  const { lastDecision, lastRunAt, idle, stoppedMs = 0 } = state;
  const last = lastDecision?.at ?? lastRunAt;
  if (!isBefore(at, last)) return state;
  const moved = { ...state, stoppedMs: stoppedMs - elapsed(at, last), idle: clockSetBack(idle, last, at) };
  return lastDecision === null ? { ...moved, lastRunAt: at } : { ...moved, lastDecision: { ...lastDecision, at } };
}

/** Returns the reading of max_time if the loop has reached it; else null. */
export function timeReading(state: LoopState, budget: Policy['budget'], at: string): BudgetReading | null {
  const readings = readBudget(state.usage, timeSpent(state, at), budget);
  return readings.find(({ name, used, limit }) => name === 'max_time' && used >= limit) ?? null;
}

/**
 * Returns the earlier one of `until` and the instant at which max_time ends a loop that runs or waits from `at` on. A driver's
 * wait in a pause, for a rate limit, counts from the begin of the pause.
 */
export function untilTimeUp(state: LoopState, { maxTimeMs }: Policy['budget'], at: string, until: string): string {
  if (maxTimeMs === null) return until;
  const sleptMs = state.status === 'paused' ? (state.paused.stoppedMs ?? 0) : 0;
  const limit = after(stoppedSince(state) ?? at, sleptMs + Math.max(0, maxTimeMs - timeSpent(state, at)));
  return isBefore(limit, until) ? limit : until;
}

/** Returns the time that `timeSpent` leaves out, including a pause that still lasts. */
export function timeStopped(state: LoopState, at: string): number {
  const until = state.status === 'ended' ? state.ended.at : at;
  return (state.stoppedMs ?? 0) + elapsed(uncountedSince(state, until) ?? until, until);
}

/** Returns since when the time of a stopped loop has not been added to `stoppedMs`. */
function uncountedSince(state: LoopState, at: string): string | null {
  const since = stoppedSince(state);
  return since === null ? null : notCounted(state, since, at);
}

/** Returns since when time does not count; null for a loop that runs or waits. */
export function stoppedSince(state: LoopState): string | null {
  switch (state.status) {
    case 'paused':
      return state.paused.since;
    case 'ended':
      return state.ended.at;
    case 'awaiting-consent':
      return state.lastDecision?.at ?? state.startedAt;
    case 'running':
    case 'waiting':
    case 'verifying':
      return null;
    default:
      return state satisfies never;
  }
}

type Stopped = Pick<CommonState, 'stoppedMs' | 'stoppedUntil'>;

/**
 * Adds the time from `since` to `at` to that in which the loop was stopped. What was added before is not added again: several
 * processes notice the same sleep, and a kill may leave the time added to the counters alone.
 */
export function stoppedFor<S extends Stopped>(state: S, since: string, at: string): S {
  const from = notCounted(state, since, at);
  const more = elapsed(from, at);
  return more === 0 ? state : { ...state, stoppedMs: (state.stoppedMs ?? 0) + more, stoppedUntil: at };
}

/** Less is what reading two clocks one after the other may differ by. */
const SHORTEST_SLEEP_MS = 1_000;

/**
 * Leaves the time for which the machine has slept since the state was written out of the loop's time, unless a watch of this
 * process has done so (`isNoted`). `asleepMs` is its figure by now: between two writes no other process of ours need have run.
 */
export function withoutSleep<S extends LoopState>(state: S, asleepMs: number, at: string, isNoted: boolean): S {
  if (state.asleepMs === undefined) return state;
  const hasRestarted = asleepMs < state.asleepMs - SHORTEST_SLEEP_MS;
  const more = hasRestarted ? asleepMs : asleepMs - state.asleepMs;
  if (more < SHORTEST_SLEEP_MS) return hasRestarted ? { ...state, asleepMs } : state;
  const marked = { ...state, asleepMs };
  if (isNoted) return marked;
  const since = after(at, -Math.min(more, elapsed(state.startedAt, at)));
  if (isWaited(marked)) return { ...marked, paused: stoppedFor(marked.paused, since, at) } satisfies LoopState as S;
  return stoppedSince(state) === null ? stoppedFor(marked, since, at) : marked;
}

/** Returns whether a rate limit or a server error pauses the loop, for whose end a driver or the client itself waits. */
export function isWaited(state: LoopState): state is StateOf<'paused'> {
  return state.status === 'paused' && (state.paused.reason === 'rate-limited' || state.paused.reason === 'api-error');
}

/** Difference from which an instant that lies ahead shows that the clock was set back; less is between two processes. */
const CLOCK_SET_BACK_MS = 60_000;

/** Returns the later one of `since` and the end of the time that has been added. */
function notCounted({ stoppedUntil: until }: Stopped, since: string, at: string): string {
  return until === undefined || elapsed(since, until) === 0 || elapsed(at, until) > CLOCK_SET_BACK_MS ? since : until;
}

/**
 * Returns the state after a transition, with the time that a pause or the wait for consent before it has lasted; of a pause that
 * the driver or the client has waited out, with the sleep of the machine in it.
 */
export function afterStop(before: LoopState, next: LoopState, at: string, isWaitedOut: boolean): LoopState {
  const since = stoppedSince(before);
  if (since === null) return next;
  if (!isWaitedOut || before.status !== 'paused') return stoppedFor(next, since, stoppedSince(next) ?? at);
  const { stoppedMs = 0, stoppedUntil = at } = before.paused;
  return stoppedFor(next, after(stoppedUntil, -stoppedMs), stoppedUntil);
}

export const NOT_IDLE: IdleState = { since: null, consecutive: 0, lastCallAt: null };

/** Shifts the streak when the clock was set back from `before` to `at`, so that its elapsed time stays the same. */
export function clockSetBack(state: IdleState, before: string, at: string): IdleState {
  if (!isBefore(at, before)) return state;
  const moved = (instant: string | null): string | null =>
    instant === null ? null : after(at, -elapsed(instant, before));
  return { ...state, since: moved(state.since), lastCallAt: moved(state.lastCallAt) };
}

export function anotherIdle(state: IdleState, at: string): IdleState {
  return { since: state.since ?? at, consecutive: state.consecutive + 1, lastCallAt: at };
}

/**
 * Returns min(delay * backoff^(k-1), max_delay) for the k-th idle iteration, cut to the rest of `max`, after which the loop stops
 * (`last`); null if none is left.
 */
export function idleWait(state: IdleState, policy: IdlePolicy, at: string) {
  const left = policy.maxMs - idleElapsed(state, at);
  if (left <= 0) return null;
  const exponent = Math.max(0, state.consecutive - 1);
  const delay = Math.min(policy.delayMs * policy.backoff ** exponent, policy.maxDelayMs);
  return delay >= left ? { delayMs: left, last: true } : { delayMs: delay, last: false };
}

/** Returns the milliseconds since the first idle signal of the streak; 0 outside a streak. */
export function idleElapsed(state: IdleState, at: string): number {
  return state.since === null ? 0 : elapsed(state.since, at);
}
