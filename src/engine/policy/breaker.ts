import type { Policy } from '../schema/contract.ts';
import type { BreakerState } from '../schema/state.ts';

interface Streak {
  readonly value: string | null;
  readonly repeats: number;
}

export const EMPTY_STREAK: Streak = { value: null, repeats: 0 };

/** Counts consecutive repeats of `value`. */
export function nextStreak(streak: Streak, value: string): Streak {
  return { value, repeats: streak.value === value ? streak.repeats + 1 : 0 };
}

/** Data of one working iteration for the breaker. A null or undefined field leaves its streak unchanged. */
export interface BreakerSample {
  readonly findings: number | null;
  /** Digest of the normalised reply; null if it must not count: it is empty, but tools were called or the run failed. */
  readonly reply: string | null;
  /** Normalised error of a failed iteration; null if it did not fail. */
  readonly error: string | null;
  /** `unknown` counts neither as progress nor as a lack of it. */
  readonly progress: 'yes' | 'no' | 'unknown';
  readonly toolCalls: number;
  readonly deniedCalls: number;
  readonly scenario: string | null;
}

export type BreakerSignal = keyof Policy['breaker'];

export interface Trip {
  readonly signal: BreakerSignal;
  readonly repeats: number;
  readonly evidence: string;
}

export const CLOSED_BREAKER: BreakerState = {
  findings: EMPTY_STREAK,
  sameReply: EMPTY_STREAK,
  sameError: EMPTY_STREAK,
  noProgress: 0,
  denials: 0,
  tdd: EMPTY_STREAK,
};

export function sampleBreaker(state: BreakerState, sample: BreakerSample): BreakerState {
  return {
    ...(sample.progress !== 'yes' && state.sameRefusal && { sameRefusal: state.sameRefusal }),
    findings: sample.findings === null ? state.findings : nextStreak(state.findings, String(sample.findings)),
    sameReply: sample.reply === null ? state.sameReply : nextStreak(state.sameReply, sample.reply),
    sameError: sample.error === null ? EMPTY_STREAK : nextStreak(state.sameError, sample.error),
    noProgress: sample.progress === 'unknown' ? state.noProgress : sample.progress === 'no' ? state.noProgress + 1 : 0,
    denials: sample.toolCalls > 0 && sample.deniedCalls >= sample.toolCalls ? state.denials + 1 : 0,
    tdd: sample.scenario === null ? state.tdd : nextStreak(state.tdd, sample.scenario),
  };
}

/** Explanation of each signal for the user, in the order of the documentation. */
const EVIDENCE: Readonly<Record<BreakerSignal, (state: BreakerState) => string>> = {
  findings: ({ findings }) => `${findings.value} findings remained for ${findings.repeats + 1} iterations`,
  noProgress: ({ noProgress }) => `no durable change in ${noProgress} iterations`,
  sameReply: (state) =>
    state.sameReply.repeats < repeatsOf(state).sameReply
      ? `${repeatsOf(state).sameReply + 1} claims in a row were refused for the same reason, and no file changed`
      : `the same reply ${state.sameReply.repeats + 1} times in a row`,
  sameError: ({ sameError }) => `the same error ${sameError.repeats + 1} times in a row: ${sameError.value}`,
  denials: ({ denials }) => `every tool call was denied in ${denials} iterations in a row`,
  tdd: ({ tdd }) => `scenario ${tdd.value} did not change for ${tdd.repeats} iterations`,
};

/** Returns the first signal over its threshold; null while the breaker is closed. */
export function tripped(state: BreakerState, thresholds: Policy['breaker']): Trip | null {
  const repeats = repeatsOf(state);
  for (const signal of Object.keys(EVIDENCE) as BreakerSignal[]) {
    const threshold = thresholds[signal];
    if (threshold > 0 && repeats[signal] >= threshold)
      return { signal, repeats: repeats[signal], evidence: EVIDENCE[signal](state) };
  }
  return null;
}

/** Returns the number of consecutive repeats of each signal. */
export function repeatsOf(state: BreakerState): Record<BreakerSignal, number> {
  const { findings, noProgress, sameReply, sameRefusal, sameError, denials, tdd } = state;
  return {
    findings: findings.repeats,
    noProgress,
    sameReply: Math.max(sameReply.repeats, sameRefusal?.repeats ?? 0),
    sameError: sameError.repeats,
    denials,
    tdd: tdd.repeats,
  };
}
