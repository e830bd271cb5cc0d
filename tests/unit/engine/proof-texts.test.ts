import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CheckResult } from '../../../src/engine/events.ts';
import type { TaskWork } from '../../../src/engine/policy/proof.ts';
import {
  allPassed,
  baselineOf,
  hasEvidence,
  isGreen,
  mayBeProved,
  proofLine,
  taskProof,
} from '../../../src/engine/policy/proof.ts';
import { baselineText, proofText, unprovedText } from '../../../src/engine/proof-texts.ts';

const result = (name: string, outcome: CheckResult['outcome'], more: Partial<CheckResult> = {}): CheckResult => ({
  ...{ name, outcome, detail: '' },
  ...more,
});
const counted = (failed: number) => ({ tests: { run: 6, failed, skipped: 0, failures: [] } });
const passed = [result('tests', 'ok'), result('lint', 'ok')];

test('a proof says which check turned, or how many, or why nothing is proved', () => {
  const facts = (...failed: string[]) => ({
    ...{ results: passed, changed: 'no' as const },
    baseline: baselineOf(passed.map(({ name }) => result(name, failed.includes(name) ? 'failed' : 'ok'))),
  });
  assert.equal(proofText('red-to-green', facts('lint')), 'lint failed before the start and passes now.');
  assert.equal(proofText('red-to-green', facts('lint', 'tests')), '2 checks failed before the start and pass now.');
  assert.equal(proofText('still-green', facts()), 'The checks passed before as well: they show that nothing broke.');
  assert.equal(proofText('green', facts()), 'Whether the checks passed before the start is unknown.');
  const same = 'every check passed before the start as well, and';
  assert.equal(proofText('none', facts()), `Nothing proves the work: ${same} no file of the project changed.`);
  const unknown = `${same} whether a file of the project changed is unknown.`;
  assert.equal(unprovedText({ ...facts(), changed: undefined }), unknown);
  assert.equal(
    unprovedText({ ...facts(), results: [result('own', 'ok', { refutesOnly: true })] }),
    'no checks are configured. Add "validation:" commands or "required_outputs:" to the task file.',
  );
  const mixed = [result('own', 'ok', { refutesOnly: true }), ...passed];
  assert.match(unprovedText({ ...facts(), results: mixed }), /^every check passed/);
});

test('the checks before the start are one line, with the failed tests of those that failed', () => {
  const text = (...results: CheckResult[]): string => baselineText(baselineOf(results));
  assert.equal(
    text(result('tests', 'failed', counted(2)), result('lint', 'ok', counted(0)), result('types', 'failed')),
    'tests failed (2 of 6), lint passed, types failed',
  );
  assert.equal(
    text(result('tests', 'failed', counted(0)), result('lint', 'ok', counted(1))),
    'tests failed, lint passed',
  );
});

test('a baseline is green if it has checks and all passed, as after an accepted claim', () => {
  const before = baselineOf([result('tests', 'failed', counted(2)), result('lint', 'ok')]);
  assert.deepEqual([isGreen(before), isGreen({ checks: [] }), isGreen(allPassed(before))], [false, false, true]);
  assert.deepEqual(allPassed(before).checks[0]?.tests, before.checks[0]?.tests, 'with the numbers of the start');
});

test('a task of a plan is proved by a change, by the plan or by a check that turned, and says so in a line', () => {
  const failed = baselineOf([result('tests', 'failed'), result('lint', 'ok')]);
  const green = baselineOf(passed);
  const rows: readonly (readonly [Partial<TaskWork>, may: boolean, has: boolean, line: string])[] = [
    [{ baseline: failed }, true, true, 'red-to-green (tests failed before), no file changed'],
    [{ baseline: failed, changes: ['a'] }, true, true, 'red-to-green (tests failed before), 1 file changed'],
    [
      { baseline: green, changes: ['a', 'b'] },
      true,
      true,
      'still-green (the checks passed before as well), 2 files changed',
    ],
    [{ baseline: undefined }, false, false, 'green (what the checks said before is unknown), no file changed'],
    [{ baseline: green, noChange: true }, true, true, 'none (the plan says that no change is needed), no file changed'],
    [{ baseline: green }, false, false, 'none (no check proves it), no file changed'],
  ];
  for (const [change, may, has, line] of rows) {
    const work = { changes: [], noChange: false, baseline: undefined, ...change };
    assert.deepEqual([mayBeProved(work), hasEvidence(work, passed), proofLine(work, passed)], [may, has, line]);
    assert.equal(taskProof(work, passed), line.split(' ')[0]);
  }
  const still = [result('tests', 'failed'), result('lint', 'ok')];
  assert.equal(hasEvidence({ changes: [], noChange: false, baseline: failed }, still), false, 'it still fails');
});
