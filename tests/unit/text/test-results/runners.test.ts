import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failedTestText, type TestSummary } from '../../../../src/text/test-results/test-summary.ts';
import { runnerFixtures } from '../../support/runner-fixtures.ts';
import { summaryOf } from '../../support/summary-of.ts';

for (const { name, origin, counts, failures, output } of runnerFixtures()) {
  test(`${name} (${origin.slice(0, 40).trim()}): ${counts}`, () => {
    for (const printed of [
      output,
      output.replaceAll('\n', '\r\n'),
      `> shop@1.0.0 test\n> run\n\n${output}\nDone in 1.2s.`,
    ])
      assert.deepEqual(shown(summaryOf(printed)), [counts, ...failures]);
  });
}

function shown(tests: TestSummary | null): string[] {
  if (tests === null) return ['no runner'];
  const { run, failed, skipped, failures, atLeast } = tests;
  const counts = `${atLeast ? 'at least ' : ''}${run} run, ${failed} failed, ${skipped} skipped`;
  return [counts, ...failures.map((each) => `--- | ${failedTestText(each)}`)];
}
