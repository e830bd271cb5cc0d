export interface Streak {
  readonly value: string | null;
  readonly repeats: number;
}

export const EMPTY_STREAK: Streak = { value: null, repeats: 0 };

/** Counts how many times in a row `value` equals the one before it. */
export function nextStreak(streak: Streak, value: string): Streak {
  return { value, repeats: streak.value === value ? streak.repeats + 1 : 0 };
}
