/** Files and folders that are looked at for one use of a path, and for all uses of one call. */
const MAX_ENTRIES = 5000;
const MAX_IN_ALL = 20_000;
/** How much may still be looked at. Below zero there was more than that. */
export interface Budget {
  /** For this use of a path. */
  left: number;
  /** For the whole call. */
  whole: number;
  /** Some use had more than it may have. */
  cut: boolean;
}

export function newBudget(): Budget {
  return { left: MAX_ENTRIES, whole: MAX_IN_ALL, cut: false };
}

/** The next use of a path has its own share again. */
export function renew(budget: Budget): void {
  budget.left = MAX_ENTRIES;
}

/** Whether the whole call has had its share: then nothing more is looked up. */
export function isSpent(budget: Budget): boolean {
  return budget.whole < 0;
}

/** Takes one entry; false where there is nothing left to take it from. */
export function take(budget: Budget): boolean {
  budget.left -= 1;
  budget.whole -= 1;
  if (budget.left >= 0 && budget.whole >= 0) return true;
  budget.cut = true;
  return false;
}
