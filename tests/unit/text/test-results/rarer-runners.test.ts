import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestOutput } from '../../../../src/text/test-results/test-output.ts';
import type { TestSummary } from '../../../../src/text/test-results/test-summary.ts';
import { isVacuousGreen, summaryOf } from '../../support/summary-of.ts';

interface Printed {
  /** Outputs of runs that executed no test. */
  readonly none: readonly string[];
  /** Outputs of runs that passed, with the number of tests. */
  readonly some: readonly (readonly [run: number, output: string])[];
  /** Outputs of runs that failed, with the number of failed tests. */
  readonly fails?: readonly (readonly [failed: number, output: string])[];
}

/** What runners print, as their documentation and sources have it. */
const RUNS: Readonly<Record<string, Printed>> = {
  GoogleTest: {
    none: [
      '[==========] Running 0 tests from 0 test suites.\n[==========] 0 tests from 0 test suites ran. (0 ms total)\n[  PASSED  ] 0 tests.',
      '[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 0 tests.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.b',
    ],
    some: [[1, '[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 1 test.']],
    fails: [
      [
        1,
        '[  FAILED  ] A.b (0 ms)\n[  PASSED  ] 1 test.\n[  FAILED  ] 1 test, listed below:\n[  FAILED  ] A.b\n\n 1 FAILED TEST',
      ],
    ],
  },
  'Catch2 and doctest': {
    none: [
      'No tests ran',
      'test cases: 1 | 1 skipped\nassertions: - none -',
      '[doctest] test cases: 0 | 0 passed | 0 failed | 3 skipped\n[doctest] assertions: 0 | 0 passed | 0 failed |',
    ],
    some: [
      [2, 'All tests passed (3 assertions in 2 test cases)'],
      [2, 'test cases: 2 | 1 passed | 1 failed as expected'],
      [1, 'test cases: 1 | 1 failed as expected\nassertions: 1 | 1 failed as expected'],
      [3, '[doctest] test cases: 3 | 3 passed | 0 failed | 0 skipped'],
    ],
    fails: [
      [1, 'test cases: 2 | 1 passed | 1 failed\nassertions: 2 | 1 passed | 1 failed'],
      [2, 'test cases: 2 | 2 failed\nassertions: 2 | 2 failed'],
    ],
  },
  meson: {
    none: [
      'No tests defined.',
      'No suitable tests defined.',
      'Ok:                 0   \nExpected Fail:      0   \nFail:               0   \nSkipped:            1   \nTimeout:            0   ',
    ],
    some: [[1, 'Ok:                 1   \nFail:               0   \nSkipped:            2   ']],
    fails: [
      [2, 'Ok:                 1   \nFail:               1   \nTimeout:            1   '],
      [2, 'Ok:                1\nFail:              0\nUnexpected Pass:   2'],
    ],
  },
  Automake: {
    none: [
      '# TOTAL: 2\n# PASS:  0\n# SKIP:  2\n# XFAIL: 0\n# FAIL:  0\n# XPASS: 0\n# ERROR: 0',
      '# TOTAL: 0\n# PASS:  0',
    ],
    some: [[2, '# TOTAL: 3\n# PASS:  1\n# SKIP:  1\n# XFAIL: 1\n# FAIL:  0']],
    fails: [[1, 'FAIL: a.sh\n# TOTAL: 2\n# PASS:  1\n# SKIP:  0\n# FAIL:  1']],
  },
  prove: {
    none: [
      't/a.t .. skipped: no\nAll tests successful.\nFiles=1, Tests=0,  0 wallclock secs ( 0.01 usr )\nResult: NOTESTS',
    ],
    some: [
      [
        1,
        't/a.t .. ok\nAll tests successful.\nFiles=1, Tests=5,  0 wallclock secs\nResult: PASS\nt/b.t .. skipped: no\nFiles=1, Tests=0,  0 wallclock secs\nResult: NOTESTS',
      ],
    ],
  },
  uvu: {
    none: ['  Total:     0\n  Passed:    0\n  Skipped:   1', '  Total:     0\n  Passed:    0\n  Skipped:   0'],
    some: [[1, '  Total:     1\n  Passed:    1\n  Skipped:   1\n  Duration:  2.88ms']],
  },
  karma: {
    none: [
      'Chrome Headless 100 (Linux): Executed 0 of 0 SUCCESS (0.001 secs / 0 secs)',
      'Chrome Headless 100 (Linux): Executed 0 of 5 (skipped 5) SUCCESS (0.001 secs / 0 secs)',
    ],
    some: [
      [5, 'Chrome 100 (x): Executed 1 of 5 SUCCESS\nChrome 100 (x): Executed 5 of 5 SUCCESS (0.01 secs / 0.01 secs)'],
    ],
    fails: [[1, 'Firefox 9.0 (x): Executed 5 of 5 (1 FAILED) (0.01 secs / 0.01 secs)']],
  },
  TestCafe: { none: [' 0 passed (0s)'], some: [[2, ' 2 passed (1m 4s)']], fails: [[1, ' 1/3 failed (2s)']] },
  JUnit: {
    none: [
      '[         0 tests successful      ]\n[         0 tests failed          ]\n[         2 tests skipped         ]',
      'OK (0 tests)',
    ],
    some: [
      [2, '[         2 tests successful      ]\n[         0 tests failed          ]'],
      [3, 'OK (3 tests)'],
    ],
    fails: [
      [1, '[         1 tests successful      ]\n[         1 tests failed          ]'],
      [1, 'Tests run: 2,  Failures: 1'],
    ],
  },
  Ant: {
    none: ['    [junit] Tests run: 0, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.001 sec'],
    some: [[2, '    [junit] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.001 sec']],
  },
  'gradle without a console': {
    none: [':compileJava SKIPPED\n:app:test SKIPPED\n\nBUILD SUCCESSFUL in 1s'],
    some: [[1, ':app:compileJava UP-TO-DATE\n:app:test\n:lib:test NO-SOURCE\n\nBUILD SUCCESSFUL']],
  },
  '.NET': {
    none: [
      'Test run summary: Zero tests ran - /x.dll (net9.0|x64)\n  total: 0\n  failed: 0\n  succeeded: 0\n  skipped: 0',
      'Test run summary: Passed! - /x.dll\n  total: 2\n  failed: 0\n  succeeded: 0\n  skipped: 2\n  duration: 70ms',
      '  Test Count: 0, Passed: 0, Failed: 0, Warnings: 0, Inconclusive: 0, Skipped: 0',
      '   a  Total: 0, Errors: 0, Failed: 0, Skipped: 0, Time: 0.000s',
    ],
    some: [
      [2, 'Test run summary: Passed! - /x.dll\n  total: 2\n  failed: 0\n  succeeded: 2\n  skipped: 0'],
      [2, '   a  Total: 3, Errors: 0, Failed: 0, Skipped: 1, Time: 0.000s'],
    ],
  },
  'clojure.test': {
    none: ['Ran 0 tests containing 0 assertions.\n0 failures, 0 errors.'],
    some: [[2, 'Ran 2 tests containing 3 assertions.\n0 failures, 0 errors.']],
  },
  tasty: { none: ['All 0 tests passed (0.00s)'], some: [[3, 'All 3 tests passed (0.00s)']] },
  EUnit: {
    none: ['  There were no tests to run.'],
    some: [
      [3, '  All 3 tests passed.'],
      [1, '  Test passed.\n  There were no tests to run.'],
    ],
  },
  busted: {
    none: ['0 successes / 0 failures / 0 errors / 3 pending : 0.0 seconds'],
    some: [[1, '1 success / 0 failures / 0 errors / 0 pending : 0.0 seconds']],
    fails: [[1, '1 success / 1 failure / 0 errors / 0 pending : 0.0 seconds']],
  },
  testthat: {
    none: ['[ FAIL 0 | WARN 0 | SKIP 1 | PASS 0 ]\n[ FAIL 0 | WARN 0 | SKIP 3 | PASS 0 ]'],
    some: [[3, '[ FAIL 0 | WARN 0 | SKIP 0 | PASS 1 ]\n[ FAIL 0 | WARN 0 | SKIP 0 | PASS 3 ]']],
    fails: [[1, '[ FAIL 1 | WARN 0 | SKIP 0 | PASS 3 ]']],
  },
  'behave and cucumber': {
    none: [
      '0 scenarios passed, 0 failed, 2 skipped',
      '0 scenarios\n0 steps',
      '1 scenario (1 undefined)\n3 steps (3 undefined)',
    ],
    some: [
      [2, '2 scenarios passed, 0 failed, 0 skipped'],
      [1, '1 scenario (1 passed)\n3 steps (3 passed)'],
    ],
    fails: [[1, '2 scenarios (1 failed, 1 passed)\n3 steps (1 failed, 2 passed)']],
  },
  'Robot Framework': {
    none: ['1 test, 0 passed, 0 failed, 1 skipped'],
    some: [[2, '1 test, 1 passed, 0 failed\n2 tests, 2 passed, 0 failed']],
    fails: [[1, '2 tests, 1 passed, 1 failed']],
  },
  'pytest-sugar': {
    none: ['Results (0.05s):\n         2 skipped'],
    some: [[2, 'Results (0.05s):\n       2 passed']],
    fails: [[1, 'Results (0.05s):\n       1 passed\n       1 failed\n         - test_a.py:1 test_a']],
  },
  'Pest and playwright': { none: ['\n  INFO  No tests found.\n', 'Running 0 tests using 0 workers'], some: [] },
  'go test -json': {
    none: [
      '{"Action":"output","Package":"a","Output":"testing: warning: no tests to run\\n"}\n{"Action":"output","Package":"a","Output":"ok  \\ta\\t0.002s [no tests to run]\\n"}\n{"Action":"pass","Package":"a"}',
      '{"Action":"output","Package":"a","Test":"TestA","Output":"--- SKIP: TestA (0.00s)\\n"}\n{"Action":"output","Package":"a","Output":"ok  \\ta\\t0.002s\\n"}',
    ],
    some: [[1, '{"Action":"output","Package":"a","Test":"TestA","Output":"--- PASS: TestA (0.00s)\\n","Elapsed":0}']],
    fails: [[1, '{"Action":"output","Package":"a","Test":"TestA","Output":"--- FAIL: TestA (0.00s)\\n"}']],
  },
};

for (const [runner, { none, some, fails = [] }] of Object.entries(RUNS)) {
  test(`the number of tests that ran and failed is read from ${runner}`, () => {
    for (const output of none) assert.deepEqual([isVacuousGreen(output), summaryOf(output)?.run], [true, 0], output);
    for (const [run, output] of some) {
      const { run: ran, failed } = summaryOf(output) ?? {};
      assert.deepEqual([ran, failed], [run, 0], output);
    }
    for (const [failed, output] of fails) assert.equal(summaryOf(output)?.failed, failed, output);
    // Whoever quotes such lines has run nothing and skipped nothing.
    for (const output of [...none, ...some.map(([, text]) => text)]) {
      const quoted = output.split('\n').map((line) => `note: ${line}`);
      assert.equal(isVacuousGreen(quoted.join('\n')), false, output);
    }
  });
}

test('a run without tests after one with tests leaves the count of the first', () => {
  for (const [run, output] of [
    [5, 'Chrome 1 (x): Executed 5 of 5 SUCCESS\nChrome 1 (x): Executed 0 of 2 (skipped 2) SUCCESS'],
    [3, '[ FAIL 0 | WARN 0 | SKIP 0 | PASS 3 ]\n[ FAIL 0 | WARN 0 | SKIP 1 | PASS 0 ]'],
    [5, 'Executed 5 tests, with 0 failures (0 unexpected)\nExecuted 0 tests, with 0 failures (0 unexpected)'],
  ] as const)
    assert.equal(summaryOf(output)?.run, run, output);
});

test('a make that ran nothing says nothing of what a command starts after it', () => {
  const read = (run: string, ...lines: string[]): TestSummary | null => {
    const output = new TestOutput('/project', run);
    for (const line of lines) output.line(line);
    return output.summary();
  };
  const idle = "make: 'test' is up to date.";
  for (const run of ['make test && ./test', 'make lint; node smoke.js', './ci.sh', 'make test || ./test'])
    assert.equal(read(run, idle), null, run);
  assert.equal(read('npm test', '> a@1.0.0 test', '> make test && ./test', '', idle), null);
  for (const run of ['make test', 'cd sub && CI=1 make test 2>&1', 'make build && make test', 'timeout 60 make test'])
    assert.equal(read(run, idle)?.run, 0, `control: ${run}`);
  assert.equal(read('npm test', '> a@1.0.0 test', '> make test', '', idle)?.run, 0, 'control: a script');
});

test('make that runs nothing for a goal that tests has executed no test', () => {
  for (const output of [
    "make: 'test' is up to date.",
    "make: `unit-tests' is up to date.",
    "make: Nothing to be done for 'check'.",
    "> a@1.0.0 test\n> make test\n\nmake: 'test' is up to date.",
    "make -C sub test\nmake[1]: Entering directory '/p/sub'\nmake[1]: 'test' is up to date.\nmake[1]: Leaving directory '/p/sub'",
    "gmake: 'lint' is up to date.",
    "gcc -c a.c\nmake: 'test' is up to date.",
  ])
    assert.equal(isVacuousGreen(output), true, output);
  for (const output of [
    "make: 'build' is up to date.",
    "make: Nothing to be done for 'all'.",
    "make[1]: Nothing to be done for 'check'.\nran my own tests: fine",
    'make: *** No rule to make target',
    "make: 'test' is up to date, it says",
  ])
    assert.equal(isVacuousGreen(output), false, `control: ${output}`);
  assert.equal(summaryOf("make: 'test' is up to date.\n1 passed in 0.1s")?.run, 1, 'control: a runner ran');
});

test('lines of other programs are no totals of these runners', () => {
  for (const output of [
    'Skipped: 3',
    'Fail: 0',
    '  failed: 0\n  skipped: 3',
    '2 tests',
    'Total: 0',
    '3 scenarios',
    ' 0 passed',
    'Passed:     12\nSkipped:     0\nFail:        0',
    'Files:              10\nSkipped:            3',
    'Concurrency:        10\nTimeout:            30',
    '  Critical:  0\n  High:      0\n  Total:     0',
    'Checks\n       12 ok\n       0 failed',
    '# OK: 5\n# FAIL: 0',
  ])
    assert.equal(summaryOf(output), null, output);
});

test('a file whose assertions alone are printed counts as a test; one that names its tests does not', () => {
  const file = 'TAP version 13\nok 1 - test/a.js # time=8.3ms {\n';
  for (const [inner, run] of [
    ['    ok 1 - should be equal\n', 1],
    ['    ok 1 - foo # time=2.1ms {\n        ok 1 - should be equal\n    }\n', 1],
    ['    ok 1 - foo # time=2.1ms\n    ok 2 - bar # time=2.1ms\n', 2],
    ['    ok 1 - foo # SKIP\n', 0],
  ] as const)
    assert.equal(summaryOf(`${file}${inner}}\n1..1\n# time=20ms\n`)?.run, run, inner);
});

test('a test file that could not be run is a failure beside tests that passed', () => {
  for (const output of [
    'FAIL src/y.test.js\n  ● Test suite failed to run\n\nTest Suites: 1 failed, 1 passed, 2 total\nTests:       2 passed, 2 total',
    ' FAIL  src/y.test.ts [ src/y.test.ts ]\nError: x\n\n Test Files  1 failed | 1 passed (2)\n      Tests  2 passed (2)',
    '     TIMEOUT [  60.004s] x tests::b\n     Summary [  60.005s] 3 tests run: 2 passed, 1 timed out, 0 skipped',
  ])
    assert.deepEqual([summaryOf(output)?.failed, isVacuousGreen(output)], [1, false], output);
  assert.equal(isVacuousGreen('warning: No matching test cases were run'), true);
});

test('what a test prints of another runner does not count, a run before or after it does', () => {
  const vitest = ' RUN  v4.1.12 /project\n\nnot ok 1 - quoted\n\n      Tests  1 passed (1)\n';
  const npm = vitest.replace('not ok', '> fixture@1.0.0 test\n> node --test\n\nnot ok');
  const failed = '--- FAIL: TestX (0.00s)\nFAIL\texample.com/x\t0.1s\n';
  for (const output of [vitest, npm]) {
    assert.deepEqual([summaryOf(output)?.run, summaryOf(output)?.failed], [1, 0], output);
    assert.equal(summaryOf(`${failed}${output}`)?.failed, 1, 'control: a run before it');
    assert.equal(summaryOf(`${output}${failed}`)?.failed, 1, 'control: a run after it');
    assert.equal(summaryOf(output.replace(/ +Tests .*\n/, ''))?.failed, 1, 'control: a run without a total');
  }
  const indented = '  console.log\n    Tests:       2 failed, 1 passed, 3 total\n\nTests:       1 passed, 1 total';
  assert.deepEqual([summaryOf(indented)?.run, summaryOf(indented)?.failed], [1, 0], 'jest indents it');
});
