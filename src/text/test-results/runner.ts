/** Returns one expression that matches wherever one of these does: one search is many times faster than several. */
export function anyOf(patterns: readonly RegExp[]): RegExp {
  const sources = patterns.map(({ source }) => {
    const unnamed = source.replace(/\(\?<\w+>/g, '(?:');
    return unnamed.startsWith('^') ? unnamed.slice(1) : `.*(?:${unnamed})`;
  });
  return new RegExp(`^(?:${sources.join('|')})`, 'i');
}

/**
 * Output of a test runner. Named groups of its patterns are counts: `list` (`2 passed, 1 failed`) or `pairs` (`passed: 2`) of words known to
 * runner-count.ts; `all`, `passed`, `failed`, `skipped` (parts of `all`, if present); `part` (a list or pairs that belong to a total on
 * another line); `letters` has one for each test. Or they are facts about a failed test: `name`, `file`, `line`, `message`.
 */
export interface Runner {
  /**
   * Begins a run: up to its total, what other runners say is what a test prints. Without a total or result, a pass proves
   * nothing.
   */
  readonly opens?: RegExp;
  /** Totals of a run, which are added up. */
  readonly totals?: readonly RegExp[];
  /** Line without which apparent totals belong to another program. */
  readonly sign?: RegExp;
  readonly lastTotalCounts?: true;
  /** Results of single tests or groups; they count if the run prints no total. */
  readonly results?: readonly RegExp[];
  /** A group of tests passed or failed (group `failed`), which does not say how many tests it has. */
  readonly groups?: readonly RegExp[];
  /** A file that passed; it counts if no test has its own line. */
  readonly file?: RegExp;
  /** Says that there was no test. */
  readonly nothing?: readonly RegExp[];
  /** Begins a failed test; its explanation follows. */
  readonly failed?: readonly RegExp[];
  /** Names a failed test without anything else. */
  readonly named?: readonly RegExp[];
  /** Repeats the name of a failed test above its explanation. */
  readonly titles?: RegExp;
  /** Lines between which failed tests are listed; a failed test is recognised nowhere else. */
  readonly list?: { readonly begins: RegExp; readonly ends?: RegExp };
  /** Explains a failed test. Without these, the first line below a name is the reason. */
  readonly reasons?: readonly RegExp[];
  /**
   * Begins a test, failed or not: the following lines are not about the previous test. With `name`, `file` or `before`, they are
   * about the test named below.
   */
  readonly begins?: RegExp;
  readonly nameGoesOn?: RegExp;
  /** Failures in a total that no line names do not count: they are expected, or tests still to be written. */
  readonly namesAll?: true;
  /** File that counts as a passed test because it has none, unless results are nested in it (`nested`). */
  readonly emptyFile?: readonly RegExp[];
  readonly nested?: RegExp;
}

/** Returns an expression that matches every line that states a count or names a test. */
export function knownLines(runners: readonly Runner[]): RegExp {
  const patterns = runners.flatMap(({ reasons: _, list, ...others }) => [
    ...Object.values(list ?? {}),
    ...Object.values(others).flat(),
  ]);
  return anyOf(patterns.filter((each) => each instanceof RegExp));
}
