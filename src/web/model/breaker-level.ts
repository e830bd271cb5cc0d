import { numberOf } from './event-text.ts';
import type { Breaker } from './report-data.ts';

/** Returns the signal with the largest share of its threshold. A threshold of 0 disables a signal. */
export function breakerLevel(repeats: unknown, thresholds: unknown): Breaker | null {
  if (typeof repeats !== 'object' || repeats === null) return null;
  const limits = (thresholds ?? {}) as Record<string, unknown>;
  const known = Object.entries(repeats).flatMap(([signal, count]): Breaker[] => {
    const [threshold, seen] = [numberOf(limits[signal]) ?? 0, numberOf(count)];
    return threshold > 0 && seen !== null ? [{ signal, repeats: seen, threshold }] : [];
  });
  return known.sort((a, b) => b.repeats / b.threshold - a.repeats / a.threshold)[0] ?? null;
}
