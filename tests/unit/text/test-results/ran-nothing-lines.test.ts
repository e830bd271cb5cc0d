import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isVacuousGreen } from '../../support/summary-of.ts';

const NOTHING = 'No tests found, exiting with code 0';

/** Lines that end where their runner's line ends: with more behind it, a line is somebody else's. */
const WHOLE: Record<'none' | 'some', readonly string[]> = {
  none: [
    '      Tests  no tests',
    'Tests   no tests',
    '[INFO] No tests to run.',
    'No tests to run.',
    '[INFO] There are no tests to run.',
    'Tests are skipped.',
    'No examples found.',
    'No tests executed!',
    'testing: warning: no tests to run',
    '?   \texample.com/a\t[no test files]',
    '? example.com/a  [no test files]',
    '\texample.com/a\tcoverage: 0.0% of statements',
    '\texample.com/a\t\tcoverage: 0.0% of statements',
    'ℹ pass 0',
    '# tests   0',
    '  12 pending',
    '1 pending',
    '1 test skipped',
    '  12 tests todo',
    'Total tests: 0',
    '> Task :test NO-SOURCE',
    '> Task :app:unitTest SKIPPED',
    '100% tests passed, 0 tests failed out of 0',
    '== 10 deselected in 2s ==',
    '== 1 skipped in 65.12s (0:01:05) ==',
  ],
  some: [
    'ℹ pass 10',
    '# fail   10',
    '# cancelled 1',
    '10 tests passed',
    '  1 test passed',
    '  10 tests failed',
    '====== 10 passed in 65.12s (1 day, 0:01:05) ======',
    '10 failed, 2 warnings in 10.12s',
    '1 error in 2s',
    '10 errors in 0.12s',
    '1 xpassed in 2s',
    'Total tests: 10',
    '> Task :a:b:integrationTest FAILED',
    '> Task :test FROM-CACHE',
    'OK (10 tests, 12 assertions)',
    'OK (1 test, 1 assertion)',
    '10% tests passed, 90 tests failed out of 100',
  ],
};

/** The same of lines that go on with times, names and the like. */
const BEGUN: Record<'none' | 'some', readonly string[]> = {
  none: [
    'No tests found, exiting with code 0',
    'No test files found, exiting with code 1',
    'No test found in suite',
    'No tests were found!!!',
    '============ no tests ran in 0.01s ============',
    'no tests ran in 0.01s',
    'NO TESTS RAN',
    'No test is available in /x/bin/x.dll. Make sure that …',
    'No test matches the given testcase filter `x` in /x.dll',
    '  Zero tests ran',
    'Zero tests ran in 0.1s',
    "  ✘ Couldn't find any files to test",
    '× Couldn’t find any tests',
    "✖Couldn't find any tests",
    "Couldn't find any files to test",
    '1..0 # no tests',
    'ok 12 - adds # SKIP',
    'ok 12 # TODO later',
    'ok 1#skip',
    'not ok 12 - adds # todo',
    'ok 12 - adds #  skip',
    'Tests: 0, Assertions: 0.',
    'Tests: 12, Assertions: 10, Skipped: 12.',
    'Tests: 20, Assertions: 10, Skipped: 10, Incomplete: 10.',
    'Tests:       12 skipped, 12 total',
    '      Tests  12 todo (12)',
    '  0 passing (12ms)',
    'Asserts:  0 pass  0 fail',
    'Ran 0 tests in 0.000s',
    'ok  \texample.com/a\t0.003s [no tests to run]',
    'test result: ok. 0 passed; 0 failed; 12 ignored; 0 measured; 12 filtered out',
    'Summary [   0.012s] 0 tests run: 0 passed, 12 skipped',
    '     Summary [] 0 tests run: 0 passed',
    'Passed! - Failed: 0, Passed: 0, Skipped: 12, Total: 12',
    '  Skipped!  - Failed:     0, Passed:     0, Skipped:    12, Total:    12',
    'Test summary: total: 12, failed: 0, succeeded: 0, skipped: 12, duration: 1.2s',
    '  Test summary: total: 10, failed: 10, succeeded: 10, skipped: 10',
    'Tests run: 12, Failures: 10, Errors: 10, Skipped: 12',
    '[INFO] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0',
    '0 examples, 0 failures',
    '12 examples, 10 failures, 12 pending',
    '1 example, 1 failure, 1 pending',
    '12 runs, 10 assertions, 10 failures, 10 errors, 12 skips',
    '0 tests, 0 assertions, 0 failures, 0 errors, 0 pendings',
    '0 tests, 0 failures',
    '12 tests, 10 failures, 12 skipped',
    '1 test, 1 failure, 1 skipped',
  ],
  some: [
    'ok 10 - adds',
    'not ok 10 - adds # of many',
    'Tests: 10, Assertions: 12.',
    'Tests:       10 passed, 10 total',
    '      Tests  10 failed | 2 skipped (12)',
    '  10 passing (12ms)',
    '  1 failing',
    'Asserts:  10 pass  0 fail',
    'Ran 10 tests in 0.001s',
    'Ran 1 test in 0.001s',
    'ok  \texample.com/b\t0.003s',
    'FAIL\texample.com/b\t0.003s',
    'test result: ok. 10 passed; 0 failed; 0 ignored; 0 measured',
    'test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured',
    'test result: FAILED. 0 passed; 10 failed; 0 ignored; 0 measured',
    'test result: ok. 0 passed; 0 failed; 0 ignored; 10 measured',
    '     Summary [   0.012s]   10 tests run: 10 passed',
    'Summary [1s] 1 test run: 1 passed',
    'Passed!  - Failed:     0, Passed:    10, Skipped:    12, Total:    22',
    'Failed!  - Failed:    10, Passed:     0, Skipped:    12, Total:    22',
    'Test summary: total: 10, failed: 0, succeeded: 10, skipped: 0',
    'Tests run: 10, Failures: 0, Errors: 0, Skipped: 0',
    '10 examples, 0 failures',
    '1 example, 1 failure',
    '10 runs, 10 assertions, 0 failures, 0 errors, 0 skips',
    '10 tests, 0 failures',
    '1 test, 1 failure',
  ],
};

const LINES = [
  ...WHOLE.none.map((line) => ({ line, ran: false, whole: true })),
  ...WHOLE.some.map((line) => ({ line, ran: true, whole: true })),
  ...BEGUN.none.map((line) => ({ line, ran: false, whole: false })),
  ...BEGUN.some.map((line) => ({ line, ran: true, whole: false })),
];

for (const { line, ran, whole } of LINES) {
  test(`${JSON.stringify(line)} says that ${ran ? 'a test ran' : 'none ran'}, and nothing if it is quoted`, () => {
    assert.equal(isVacuousGreen(line), !ran);
    assert.equal(isVacuousGreen(`${NOTHING}\n${line}`), !ran, 'beside a runner that found nothing');
    for (const quoted of [`note: ${line}`, ...(whole ? [`${line} it says`] : [])]) {
      assert.equal(isVacuousGreen(quoted), false, quoted);
      assert.equal(isVacuousGreen(`${NOTHING}\n${quoted}`), true, `${quoted}, beside a runner that found nothing`);
    }
  });
}

test('subtracts skipped tests from the total that a runner prints on another line', () => {
  const skips = [
    'Ran 12 tests in 0.1s\n\nOK (skipped=12)',
    'Ran 12 tests in 0.1s\n\nFAILED (failures=10, expected failures=10, skipped=12)',
    'Total tests: 12\n    Skipped: 12',
    '12/12 Test  #12: a b ....***Skipped   0.00 sec\n 9/12 Test #9: b ...***Skipped\n100% tests passed, 0 tests failed out of 2',
  ];
  for (const output of skips) {
    assert.equal(isVacuousGreen(output), true, output);
    const lines = output.split('\n');
    const quoted = lines.map((line) => (/[Ss]kipped/.test(line) ? `note: ${line}` : line)).join('\n');
    assert.equal(isVacuousGreen(quoted), false, quoted);
  }
  assert.equal(isVacuousGreen('Total tests: 2\n    Skipped: 2 of them'), false);
  assert.equal(isVacuousGreen('Total tests: 2\n Skipped: 2'), false);
});

test('a file that node:test reports as passed is not a test, in either reporter and on either system', () => {
  for (const file of ['/p/a.test.js', 'C:\\p\\a.mts', 'd:/p/a.cjs', '/p/a.tsx']) {
    assert.equal(isVacuousGreen(`ok 12 - ${file}\n# pass 1`), true, file);
    assert.equal(isVacuousGreen(`✔ ${file} (12.5ms)\nℹ pass 1`), true, file);
    for (const test of [
      `ok 1 - ${file} works`,
      `✔ ${file} (1.5ms) # later`,
      `note: ok 1 - ${file}`,
      `a ✔ ${file} (1ms)`,
    ])
      assert.equal(isVacuousGreen(`${test}\nℹ pass 1`), false, test);
  }
  for (const test of ['ok 1 - a.js', 'ok 1 - %:/a.js', 'ok 1 - a:b.js', 'ok 1 - /p/a.json', 'ok 1 - /p/a.xjs'])
    assert.equal(isVacuousGreen(`${test}\n# pass 1`), false, test);
});

test('results below a file are tests, and earlier results still count', () => {
  for (const inner of ['    ok 1 - a', '    not ok 1 - a', '  ✔ a (1ms)', '  ✖ a (1ms)'])
    assert.equal(isVacuousGreen(`✔ /p/a.test.js (9ms)\n${inner}\nℹ pass 1`), false, inner);
  for (const outer of ['x   ok 1 - a', ' ✔ a (1ms)', 'x   ✔ a (1ms)'])
    assert.equal(isVacuousGreen(`✔ /p/a.test.js (9ms)\n${outer}\nℹ pass 1`), true, outer);
  assert.equal(isVacuousGreen('1..0\n    ok 1 - a'), true);
});

test('the results of a Go package count for that package only', () => {
  const skipped = '--- SKIP: TestA (0.00s)\nok  \ta\t0.1s';
  assert.equal(isVacuousGreen(skipped), true);
  assert.equal(isVacuousGreen(`--- PASS: TestA/b (0.00s)\n${skipped}`), false);
  assert.equal(isVacuousGreen(`--- FAIL: TestA (0.00s)\n${skipped}`), false);
  assert.equal(isVacuousGreen('note: --- SKIP: TestA (0.00s)\nok  \ta\t0.1s'), false);
});

test('a word that only begins or ends like a result is not one', () => {
  for (const list of ['3 bypassed', '3 passedby', '3 unfailed'])
    assert.equal(isVacuousGreen(`Tests:  1 skipped, ${list}, 4 total`), true, list);
  for (const list of ['3 bypassed, 1 skipped', '1 skipped, 3 passedby', '1 deselected, 3 errorss'])
    assert.equal(isVacuousGreen(`== ${list} in 0.1s ==`), true, list);
});

test('ignores what a carriage return overwrote', () => {
  assert.equal(isVacuousGreen('running 12 …\r  0 passing (2ms)\r\n'), true);
  assert.equal(isVacuousGreen('  0 passing (2ms)\rbuild done\n'), false);
});

test('a line of more than 1,000 characters is not a summary', () => {
  assert.equal(isVacuousGreen('0 passing '.padEnd(1000, 'x')), true);
  assert.equal(isVacuousGreen('0 passing '.padEnd(1001, 'x')), false);
});
