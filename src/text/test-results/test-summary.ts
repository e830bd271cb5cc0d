/** Failed test as its runner names it; null is unknown. */
export interface FailedTest {
  readonly name: string;
  /** Path as the runner prints it. */
  readonly file: string | null;
  readonly line: number | null;
  /** First line of the failure's reason. */
  readonly message: string | null;
}

/** Counts from a test run's own output; several runs in one output are added up. */
export interface TestSummary {
  /** Number of executed tests; a skipped test was not executed. */
  readonly run: number;
  readonly failed: number;
  readonly skipped: number;
  /** At most ten failed tests, in the order of the output. */
  readonly failures: readonly FailedTest[];
  /** The runner does not print how many tests passed: `run` is the least number. */
  readonly atLeast?: true;
}

/** Returns whether a runner was recognised and executed nothing. */
export function ranNothing(tests: TestSummary | null): boolean {
  return tests !== null && tests.run === 0;
}
