import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { failedTestText } from '../../../../src/text/test-results/failed-tests-text.ts';
import type { TestSummary } from '../../../../src/text/test-results/test-summary.ts';
import { summaryOf } from '../../support/summary-of.ts';

const FOLDER = join(import.meta.dirname, 'fixtures');

/**
 * A file has the runner's version and where its outputs come from in its first line, then outputs: `#### name | exit code | counts`,
 * a line `--- | ` for each failed test, and what the runner printed, with `\e` for the escape character.
 */
for (const file of readdirSync(FOLDER)) {
  const [origin = '', ...outputs] = readFileSync(join(FOLDER, file), 'utf8').split(/^#### /m);
  for (const each of outputs) {
    const [head = '', ...lines] = each.split('\n');
    const [name = '', , counts = ''] = head.split(' | ');
    const failures = lines.filter((line) => line.startsWith('--- | '));
    const output = lines
      .filter((line) => !failures.includes(line))
      .join('\n')
      .replaceAll('\\e', '\u001b');
    test(`${name} (${origin.slice(0, 40).trim()}): ${counts}`, () => {
      for (const printed of [
        output,
        output.replaceAll('\n', '\r\n'),
        `> shop@1.0.0 test\n> run\n\n${output}\nDone in 1.2s.`,
      ])
        assert.deepEqual(shown(summaryOf(printed)), [counts, ...failures]);
    });
  }
}

function shown(tests: TestSummary | null): string[] {
  if (tests === null) return ['no runner'];
  const { run, failed, skipped, failures, atLeast } = tests;
  const counts = `${atLeast ? 'at least ' : ''}${run} run, ${failed} failed, ${skipped} skipped`;
  return [counts, ...failures.map((each) => `--- | ${failedTestText(each)}`)];
}
