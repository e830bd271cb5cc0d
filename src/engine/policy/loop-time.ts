import { after, elapsed, isBefore } from '../../text/time.ts';
import type { BudgetReading } from '../events.ts';
import type { IdlePolicy, Policy } from '../schema/contract.ts';
import type { CommonState, IdleState, LoopState, StateOf } from '../schema/state.ts';
import { readBudget } from './budget.ts';

/**
 * Returns the time, in milliseconds, for which the loop has run or waited since its start: what `max_time` counts. Time
 * does not count while the loop is paused or awaits consent, between its end and its resume, and while its machine sleeps.
 */
export function timeSpent(state: LoopState, at: string): number {
  const until = uncountedSince(state, at) ?? at;
  const { startedAt, stoppedMs = 0 } = state;
  return Math.max(0, elapsed(startedAt, until) - elapsed(until, startedAt) - stoppedMs);
}

/** Returns the state for a clock that was set back since its last decision: the loop's and the idle streak's times stay. */
export function onThisClock<S extends LoopState>(state: S, at: string): S {
  const { lastDecision, lastRunAt, idle, stoppedMs = 0 } = state;
  const last = lastDecision?.at ?? lastRunAt;
  if (!isBefore(at, last)) return state;
  const moved = { ...state, stoppedMs: stoppedMs - elapsed(at, last), idle: clockSetBack(idle, last, at) };
  return lastDecision === null ? { ...moved, lastRunAt: at } : { ...moved, lastDecision: decidedAt(lastDecision, at) };
}

/** Returns a decision whose iteration starts at this instant. */
export function decidedAt<D extends NonNullable<LoopState['lastDecision']>>(
  { sleptMs: _, ...decision }: D,
  at: string,
) {
  return { ...decision, at };
}

/** Returns the reading of max_time if the loop has reached it; else null. */
export function timeReading(state: LoopState, budget: Policy['budget'], at: string): BudgetReading | null {
  const readings = readBudget(state.usage, timeSpent(state, at), budget);
  return readings.find(({ name, used, limit }) => name === 'max_time' && used >= limit) ?? null;
}

/**
 * Returns the earlier of `until` and the instant at which max_time ends a loop that runs or waits from `at` on. In a pause for
 * a rate limit, the driver's wait counts from the beginning of the pause.
 */
export function untilTimeUp(state: LoopState, { maxTimeMs }: Policy['budget'], at: string, until: string): string {
  if (maxTimeMs === null) return until;
  const sleptMs = state.status === 'paused' ? (state.paused.stoppedMs ?? 0) : 0;
  const limit = after(stoppedSince(state) ?? at, sleptMs + Math.max(0, maxTimeMs - timeSpent(state, at)));
  return isBefore(limit, until) ? limit : until;
}

/** Returns the time that `timeSpent` leaves out, including a pause still in progress. */
export function timeStopped(state: LoopState, at: string): number {
  const until = state.status === 'ended' ? state.ended.at : at;
  return (state.stoppedMs ?? 0) + elapsed(uncountedSince(state, until) ?? until, until);
}

/** Returns the instant from which a loop's stopped time is missing in `stoppedMs`; null if the loop is not stopped. */
function uncountedSince(state: LoopState, at: string): string | null {
  const since = stoppedSince(state);
  return since === null ? null : notCounted(state, since, at);
}

/** Returns the instant from which time does not count; null for a loop that runs or waits. */
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
 * Adds the time from `since` to `at` to `stoppedMs`. Time already added is not added again: several processes notice the same
 * sleep, and a kill may leave the time added to the counters but not to the state.
 */
export function stoppedFor<S extends Stopped>(state: S, since: string, at: string): S {
  const from = notCounted(state, since, at);
  const more = elapsed(from, at);
  return more === 0 ? state : { ...state, stoppedMs: (state.stoppedMs ?? 0) + more, stoppedUntil: at };
}

/** Returns the state of a loop that ran or waited while its machine slept: neither its time nor its iteration's has that. */
export function sleptFor<S extends LoopState>(state: S, since: string, at: string): S {
  const next = stoppedFor(state, since, at);
  const { lastDecision } = state;
  const sleptMs = (lastDecision?.sleptMs ?? 0) + (next.stoppedMs ?? 0) - (state.stoppedMs ?? 0);
  return next === state || lastDecision === null ? next : { ...next, lastDecision: { ...lastDecision, sleptMs } };
}

/** Shortest sleep that is counted; two clocks read one after the other may differ by less. */
const SHORTEST_SLEEP_MS = 1_000;

/**
 * Excludes from the loop's time how long the machine has slept since the state was written, unless a watch in this process has
 * done so (`isNoted`). `asleepMs` is the current figure: no other process of ours need have run since.
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
  return stoppedSince(state) === null ? sleptFor(marked, since, at) : marked;
}

/** Returns whether the loop is paused by a rate limit or a server error, whose end the driver or the client awaits. */
export function isWaited(state: LoopState): state is StateOf<'paused'> {
  return state.status === 'paused' && (state.paused.reason === 'rate-limited' || state.paused.reason === 'api-error');
}

/** An instant further ahead than this shows that the clock was set back; processes may differ by less. */
const CLOCK_SET_BACK_MS = 60_000;

/** Returns the later of `since` and the end of the time already added. */
function notCounted({ stoppedUntil: until }: Stopped, since: string, at: string): string {
  return until === undefined || elapsed(since, until) === 0 || elapsed(at, until) > CLOCK_SET_BACK_MS ? since : until;
}

/**
 * Returns the state after a transition, with the time of the pause or wait for consent before it excluded. If the driver or the
 * client waited the pause out, only the machine's sleep during it is excluded.
 */
export function afterStop(before: LoopState, next: LoopState, at: string, isWaitedOut: boolean): LoopState {
  const since = stoppedSince(before);
  if (since === null) return next;
  if (!isWaitedOut || before.status !== 'paused') return stoppedFor(next, since, stoppedSince(next) ?? at);
  const { stoppedMs = 0, stoppedUntil = at } = before.paused;
  return stoppedFor(next, after(stoppedUntil, -stoppedMs), stoppedUntil);
}

export const NOT_IDLE: IdleState = { since: null, consecutive: 0, lastCallAt: null };

/** Shifts the streak after the clock was set back from `before` to `at`, so that its elapsed time stays the same. */
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
 * Returns min(delay * backoff^(k-1), max_delay) for the k-th idle iteration, cut to what is left of `max`, after which the loop
 * stops (`last`); null if nothing is left.
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
