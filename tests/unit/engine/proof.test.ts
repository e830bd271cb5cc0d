import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CheckResult } from '../../../src/engine/events.ts';
import { baselineOf, proofOf } from '../../../src/engine/policy/proof.ts';
import { missingTestsText } from '../../../src/engine/proof-texts.ts';
import type { Baseline } from '../../../src/engine/schema/proof.ts';

type Outcome = CheckResult['outcome'];

function results(outcomes: Readonly<Record<string, Outcome>>): CheckResult[] {
  return Object.entries(outcomes).map(([name, outcome]) => ({ name, outcome, detail: '' }));
}

const passed = results({ tests: 'ok', lint: 'ok' });
const before = (outcomes: Readonly<Record<string, Outcome>>): Baseline => baselineOf(results(outcomes));
const [changed, same, unknown] = ['yes', 'no', undefined] as const;

test('a check that failed before and passes now proves the work, whatever changed', () => {
  const baseline = before({ tests: 'failed', lint: 'ok' });
  for (const files of [changed, same, unknown]) {
    assert.equal(proofOf({ baseline, results: passed, changed: files }), 'red-to-green');
  }
});

test('checks that passed before as well prove only work that changed a file', () => {
  const baseline = before({ tests: 'ok', lint: 'ok' });
  assert.equal(proofOf({ baseline, results: passed, changed }), 'still-green');
  assert.equal(proofOf({ baseline, results: passed, changed: same }), 'none');
  assert.equal(proofOf({ baseline, results: passed, changed: unknown }), 'none', 'unknown is no evidence');
});

test('without checks nothing is proved, with or without a baseline', () => {
  for (const baseline of [undefined, before({}), before({ tests: 'failed' })]) {
    assert.equal(proofOf({ baseline, results: [], changed }), 'none');
  }
});

test('without a baseline a completion is green: its checks may have passed before', () => {
  for (const files of [changed, same, unknown]) {
    assert.equal(proofOf({ baseline: undefined, results: passed, changed: files }), 'green');
  }
});

test('a check that the user added later is not known to have passed before', () => {
  assert.equal(proofOf({ baseline: before({ tests: 'ok' }), results: passed, changed: same }), 'green');
  assert.equal(proofOf({ baseline: before({ tests: 'failed' }), results: passed, changed: same }), 'red-to-green');
});

test('a check that failed before and was taken out of the contract proves nothing', () => {
  const baseline = before({ tests: 'ok', lint: 'ok', types: 'failed' });
  assert.equal(proofOf({ baseline, results: passed, changed: same }), 'none');
});

test('what the agent writes itself can refute a claim, and proves nothing', () => {
  const questions: CheckResult = { name: 'OPEN_QUESTIONS.md', outcome: 'failed', detail: '', refutesOnly: true };
  const baseline = baselineOf([...results({ tests: 'ok' }), questions]);
  assert.deepEqual(baseline, { checks: [{ name: 'tests', outcome: 'passed' }] });
  const answered: CheckResult = { ...questions, outcome: 'ok' };
  assert.equal(proofOf({ baseline, results: [...results({ tests: 'ok' }), answered], changed: same }), 'none');
  assert.equal(proofOf({ baseline: undefined, results: [answered], changed }), 'none');
});

test('two checks of one name were red only if both were', () => {
  const twice = [...results({ tests: 'ok' }), ...results({ tests: 'ok' })];
  const mixed = baselineOf([...results({ tests: 'failed' }), ...results({ tests: 'ok' })]);
  assert.equal(proofOf({ baseline: mixed, results: twice, changed: same }), 'none');
  const red = baselineOf([...results({ tests: 'failed' }), ...results({ tests: 'vacuous' })]);
  assert.equal(proofOf({ baseline: red, results: twice, changed: same }), 'red-to-green');
});

test('a baseline keeps the counts of its tests, and anything but a pass is a failure', () => {
  const tests = { run: 6, failed: 2, skipped: 0, failures: [] };
  const found = baselineOf([
    { name: 'tests', outcome: 'failed', detail: '', tests },
    ...results({ slow: 'timeout', empty: 'vacuous', lint: 'ok' }),
  ]);
  assert.deepEqual(found.checks, [
    { name: 'tests', outcome: 'failed', tests },
    { name: 'slow', outcome: 'failed' },
    { name: 'empty', outcome: 'failed' },
    { name: 'lint', outcome: 'passed' },
  ]);
});

test('tests that are gone or switched off since the start are said in one line', () => {
  const ran = (run: number, skipped: number, more: { readonly failed?: number; readonly atLeast?: true } = {}) =>
    [{ name: 'tests', outcome: 'ok', detail: '', tests: { run, failed: 0, skipped, failures: [], ...more } }] as const;
  const missing = (first: ReturnType<typeof ran> | null, last: ReturnType<typeof ran>) =>
    missingTestsText({ baseline: first === null ? undefined : baselineOf(first), results: last });
  assert.equal(missing(ran(6, 0), ran(3, 0)), 'Tests of tests: 3 tests fewer than at the start.');
  assert.equal(missing(ran(6, 0), ran(4, 2)), 'Tests of tests: 2 skipped.');
  assert.equal(missing(ran(6, 1), ran(3, 3)), 'Tests of tests: 1 test fewer than at the start, 2 skipped.');
  assert.equal(missing(ran(6, 0, { failed: 2 }), ran(4, 0)), 'Tests of tests: 2 tests fewer than at the start.');
  for (const [first, last] of [
    [ran(6, 0), ran(6, 0)],
    [ran(6, 2), ran(8, 0)],
    [ran(3, 0), ran(9, 0)],
    [null, ran(1, 5)],
    [ran(6, 0, { atLeast: true }), ran(3, 0)],
    [ran(6, 0), ran(3, 0, { atLeast: true })],
  ] as const)
    assert.equal(missing(first, last), null, 'control: more tests, or numbers that say nothing');
});
