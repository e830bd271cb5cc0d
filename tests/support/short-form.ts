import { type TestContext, test } from 'node:test';

/** `npm run test:long` plays every case of long tables. */
export const IS_LONG = process.env['RALPH_TEST_LONG'] === '1';

/** Returns all cases in the long form; in the short one every `nth`, the same ones in each run. */
export function someOf<T>(cases: readonly T[], nth: number, first = 0): readonly T[] {
  return IS_LONG ? cases : cases.filter((_, at) => at % nth === first % nth);
}

/**
 * A test that only the long form plays. Its behaviour has another test in the short form: a cheaper one, or one of the
 * same kind in another driver.
 */
export const longTest: typeof test = IS_LONG ? test : Object.assign(async () => {}, test);

/** Registers tests like `test`; in the short form every `nth` of those that it is called with. */
export function someTests(nth: number, first: number): (name: string, run: (t: TestContext) => Promise<void>) => void {
  let at = 0;
  return (name, run) => {
    if (IS_LONG || at % nth === first % nth) test(name, run);
    at += 1;
  };
}
