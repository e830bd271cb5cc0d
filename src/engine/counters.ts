import { dollarText } from '../text/figures.ts';
import { tokens } from './events.ts';
import { billedTokens } from './policy/budget.ts';
import type { Counters, LoopState, UsageState } from './schema/state.ts';

export function countersOf({
  loopId,
  iteration,
  idleIterations,
  epoch,
  usage,
  marks: read,
  mode,
  sessionId,
  clientPid,
  ...rest
}: LoopState): Counters {
  const { callsBytes: _, ...marks } = read;
  const session = mode === 'hook' && sessionId !== null ? { sessionId, ...(clientPid !== null && { clientPid }) } : {};
  return { loopId, iteration, idleIterations, epoch, usage, marks, ...session, ...stoppedTime(rest) };
}

type StoppedTime = Pick<Counters, 'stoppedMs' | 'stoppedUntil' | 'asleepMs'>;

function stoppedTime({ stoppedMs, stoppedUntil, asleepMs }: StoppedTime): StoppedTime {
  return {
    ...(stoppedMs !== undefined && { stoppedMs }),
    ...(stoppedUntil !== undefined && { stoppedUntil }),
    ...(asleepMs !== undefined && { asleepMs }),
  };
}

/** Returns the higher of two counters of a loop, where one has grown from the other. */
export function higher(one: Counters | null, other: Counters | null, loopId: string): Counters | null {
  const [first, second] = [one, other].map((counters) => (counters?.loopId === loopId ? counters : null));
  if (!first || !second) return first ?? second ?? null;
  return isBehind(first, second) ? { ...second, ...largest(first, second) } : first;
}

/** Returns the state with every count raised to at least that of `kept`; the same object if none is lower. */
export function atLeast<S extends LoopState>(state: S, kept: Counters | null): S {
  if (kept?.loopId !== state.loopId || !isBehind(state, kept)) return state;
  return { ...state, ...largest(state, kept) };
}

/**
 * Returns an older state with the kept counts. They include everything in the transcript up to the kept position, so that is
 * not read again; the position in the journal of calls stays, since that journal is as old as the state.
 */
export function withCounters<S extends LoopState>(state: S, kept: Counters): S {
  return {
    ...withStoppedTime(atLeast(state, kept), kept),
    marks: { ...kept.marks, callsBytes: state.marks.callsBytes },
  };
}

/** Returns the state with the recorded stopped time of its loop: a longer, forged one would extend max_time. */
export function withStoppedTime<S extends StoppedTime & { readonly loopId: string }>(state: S, kept: S | Counters): S {
  const { stoppedMs, stoppedUntil, asleepMs, ...rest } = state;
  const isSame = stoppedMs === kept.stoppedMs && stoppedUntil === kept.stoppedUntil && asleepMs === kept.asleepMs;
  if (kept.loopId !== state.loopId || isSame) return state;
  return { ...(rest as S), ...stoppedTime(kept) };
}

/** Returns a warning if a state is older than the counters of its loop; else null. */
export function wentBackText(state: LoopState, kept: Counters | null): string | null {
  if (kept?.loopId !== state.loopId || !isBehind(state, kept)) return null;
  const lower = [
    difference('iteration', state.iteration, kept.iteration),
    difference('idle iterations', state.idleIterations, kept.idleIterations),
    difference('tokens', billedTokens(state.usage), billedTokens(kept.usage)),
    difference('cost', state.usage.costUsd ?? 0, kept.usage.costUsd ?? 0, dollarText),
  ].filter((text) => text !== null);
  const what = lower.length === 0 ? '' : ` (${lower.join(', ')})`;
  return `The state of the loop was replaced by an older one${what}; the loop continues from the higher counts.`;
}

function difference(
  name: string,
  now: number,
  kept: number,
  format: (count: number) => string = String,
): string | null {
  return now < kept ? `${name} ${format(kept)} -> ${format(now)}` : null;
}

type Counts = Omit<Counters, 'loopId' | 'marks' | 'sessionId' | 'clientPid'>;

function isBehind(state: Counts, kept: Counts): boolean {
  const { iteration, idleIterations, epoch, usage } = state;
  if (iteration < kept.iteration || idleIterations < kept.idleIterations || epoch < kept.epoch) return true;
  return hasLess(usage, kept.usage);
}

function hasLess(usage: UsageState, kept: UsageState): boolean {
  const missing = Object.values(tokens((kind) => kept[kind] - usage[kind]));
  return (usage.costUsd ?? 0) < (kept.costUsd ?? 0) || missing.some((count) => count > 0);
}

function largest(state: Counts, kept: Counts): Counts {
  return {
    iteration: Math.max(state.iteration, kept.iteration),
    idleIterations: Math.max(state.idleIterations, kept.idleIterations),
    epoch: Math.max(state.epoch, kept.epoch),
    usage: largestUsage(state.usage, kept.usage),
  };
}

/** Raises the figures to at least those of `kept`; if it has more, its unpriced runs and cost base apply. */
function largestUsage(usage: UsageState, kept: UsageState): UsageState {
  if (!hasLess(usage, kept)) return usage;
  const costUsd = usage.costUsd === null ? kept.costUsd : Math.max(usage.costUsd, kept.costUsd ?? 0);
  return { ...kept, ...tokens((kind) => Math.max(usage[kind], kept[kind])), costUsd };
}
