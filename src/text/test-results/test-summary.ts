import { excerpt } from '../quote.ts';
/** Failed test, as its runner names it; null is unknown. */
export interface FailedTest {
  readonly name: string;
  /** Path as the runner prints it; null if unknown. */
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
  /** Present if the runner does not print how many tests passed: `run` is then a minimum. */
  readonly atLeast?: true;
}

/** Returns whether a runner was recognised and executed nothing. */
export function ranNothing(tests: TestSummary | null): boolean {
  return tests !== null && tests.run === 0;
}

/** Number of failed tests that are named in one sentence. */
const SHOWN = 3;
const MAX_MESSAGE = 160;

/** Says how many tests fail and names the first ones, in one line; null if none is known to fail. */
export function failedTestsText(tests: TestSummary | null | undefined): string | null {
  if (!tests || (tests.failed === 0 && tests.failures.length === 0)) return null;
  return `${failedShareText(tests)}${namesText(tests)}`;
}

/** Says that a command passed by its exit code, but not by its tests. */
export function contradictionText(tests: TestSummary): string {
  const what = tests.failed === 1 ? '1 failed test' : `${tests.failed} failed tests`;
  return `exited with 0, but its runner reports ${what}${namesText(tests)}`;
}

function namesText({ failed, failures }: TestSummary): string {
  if (failures.length === 0) return '.';
  const names = failures.slice(0, SHOWN).map(failedTestText);
  const more = Math.max(failed, failures.length) - names.length;
  return `: ${[...names, ...(more > 0 ? [`and ${more} more`] : [])].join('; ')}`;
}

type ShareOfTests = Pick<TestSummary, 'run' | 'failed'> & { readonly atLeast?: true | undefined };

/** Says how many tests fail: `2 of 6 tests fail`. */
export function failedShareText({ run, failed, atLeast }: ShareOfTests): string {
  if (failed === 0 || run === 0) return 'No test ran';
  const of = atLeast ? '' : ` of ${run}`;
  const isOne = (atLeast ? failed : run) === 1;
  return `${failed}${of} test${isOne ? '' : 's'} fail${failed === 1 ? 's' : ''}`;
}

/** Names a failed test: `discount is whole cents (cart.test.js:5): 139.5 !== 139`. */
export function failedTestText({ name, file, line, message }: FailedTest): string {
  const place = file === null || file === name ? '' : ` (${file}${line === null ? '' : `:${line}`})`;
  return `${name}${place}${message === null ? '' : `: ${excerpt(message, MAX_MESSAGE)}`}`;
}
