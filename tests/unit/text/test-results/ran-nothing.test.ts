import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isVacuousGreen } from '../../support/summary-of.ts';

const jestJson = (passed: number, skipped: number): string =>
  `{"numTotalTestSuites":1,"numPassedTests":${passed},"numFailedTests":0,"numPendingTests":${skipped},"numTodoTests":0,"testResults":[]}`;
const MOCHA_JSON =
  '{\n  "stats": {\n    "tests": 2,\n    "passes": 1,\n    "pending": 1,\n    "failures": 0,\n    "duration": 1\n  }\n';

/** What each runner prints when it executed no test, and when it did. */
const RUNS: readonly (readonly [runner: string, vacuous: boolean, output: string])[] = [
  [
    'node:test that found no file',
    true,
    'TAP version 13\n1..0\n# tests 0\n# suites 0\n# pass 0\n# fail 0\n# cancelled 0\n# skipped 0\n# todo 0\n',
  ],
  [
    'node:test with only skips',
    true,
    'TAP version 13\n# Subtest: a\nok 1 - a # SKIP\n  ---\n  ...\n1..1\n# tests 1\n# pass 0\n# fail 0\n# skipped 1\n',
  ],
  [
    'node:test with only skips, for people',
    true,
    '﹣ a (0.7ms) # SKIP\nℹ tests 1\nℹ suites 0\nℹ pass 0\nℹ fail 0\nℹ cancelled 0\nℹ skipped 1\nℹ todo 0\n',
  ],
  [
    'node:test over a file without a test',
    true,
    'TAP version 13\n# Subtest: /p/empty.test.js\nok 1 - /p/empty.test.js\n  ---\n  ...\n1..1\n# tests 1\n# pass 1\n# fail 0\n',
  ],
  [
    'node:test over a file without a test, for people',
    true,
    '✔ /p/empty.test.js (56.38ms)\nℹ tests 1\nℹ pass 1\nℹ fail 0\n',
  ],
  [
    'node:test of node 22 over a file without a test',
    true,
    "TAP version 13\n# Subtest: src/empty.test.js\nok 1 - src/empty.test.js\n  ---\n  type: 'test'\n  ...\n1..1\n# tests 1\n# pass 1\n",
  ],
  [
    'node:test of node 24 over files without a test, for people',
    true,
    '✔ empty.test.mjs (56.38ms)\n✔ test/test-b.ts (5.2ms)\n✔ c_spec.ts (5.2ms)\nℹ tests 3\nℹ pass 3\nℹ fail 0\n',
  ],
  ['node:test with a test that bears the name of a file', false, '✔ src/index.js (0.4ms)\nℹ tests 1\nℹ pass 1\n'],
  [
    'node:test over a file without and one with a test',
    false,
    '✔ /p/empty.test.js (56.38ms)\n✔ adds (1ms)\nℹ tests 2\nℹ pass 2\nℹ fail 0\n',
  ],
  [
    'node:test of an older node, which nests tests in their file',
    false,
    'TAP version 13\n# Subtest: /p/a.test.js\n    # Subtest: a\n    ok 1 - a\n    1..1\nok 1 - /p/a.test.js\n1..1\n# tests 1\n# pass 1\n',
  ],
  ['node:test', false, '✔ a (0.7ms)\n﹣ c (0.1ms) # SKIP\nℹ tests 2\nℹ pass 1\nℹ fail 0\nℹ skipped 1\n'],
  ['node:test in colour', true, '\u001b[34mℹ tests 0\u001b[39m\r\n\u001b[34mℹ pass 0\u001b[39m\r\n'],
  ['playwright that lists its tests', true, 'Listing tests:\n  a.spec.js:2:1 › a\nTotal: 1 test in 1 file\n'],
  [
    'jest with a test that ends the process',
    true,
    '  ●  process.exit called with "0"\n\n    > 1 | process.exit(0)\n\n      at Object.exit (a.test.js:1:41)\n',
  ],
  ['jest without a test', true, 'No tests found, exiting with code 0\n'],
  [
    'jest with only skips',
    true,
    'Test Suites: 1 skipped, 0 of 1 total\nTests:       5 skipped, 5 total\nSnapshots:   0 total\n',
  ],
  ['jest with only todos', true, 'Tests:       2 todo, 2 total\n'],
  ['jest', false, 'Test Suites: 1 passed, 1 total\nTests:       1 skipped, 2 passed, 3 total\n'],
  ['vitest without a file', true, 'No test files found, exiting with code 0\n'],
  ['vitest with only skips', true, ' Test Files  1 skipped (1)\n      Tests  3 skipped (3)\n'],
  ['vitest without a test', true, ' Test Files  1 passed (1)\n      Tests  no tests\n'],
  ['vitest', false, ' Test Files  1 passed (1)\n      Tests  2 passed | 1 skipped (3)\n'],
  [
    'vitest in colour',
    false,
    '\u001b[2m      Tests \u001b[22m \u001b[1m\u001b[32m4 passed\u001b[39m\u001b[22m\u001b[90m (4)\u001b[39m\n',
  ],
  ['JSON of jest with only skips', true, jestJson(0, 2)],
  ['JSON of vitest', false, jestJson(1, 1)],
  [
    'JSON of vitest with only skips, in a long line',
    true,
    jestJson(0, 2).replace('"testResults":[', `$&${'x'.repeat(1_000)}`),
  ],
  ['JSON of mocha with only pending tests', true, MOCHA_JSON.replace(': 1,', ': 0,')],
  ['JSON of mocha', false, MOCHA_JSON],
  ['JSON of another program', false, MOCHA_JSON.replace('passes', 'processed')],
  [
    'a stream of JSON of mocha',
    true,
    '["end",{"suites":1,"tests":2,"passes":0,"pending":2,"failures":0,"duration":5}]\n',
  ],
  [
    'JSON of playwright',
    true,
    '  "stats": {\n    "expected": 0,\n    "skipped": 2,\n    "unexpected": 0,\n    "flaky": 0\n  }\n',
  ],
  ['mocha without a test', true, '\n\n  0 passing (2ms)\n\n'],
  ['mocha with only pending tests', true, '  - a\n\n  0 passing (2ms)\n  1 pending\n'],
  ['mocha', false, '  3 passing (12ms)\n  1 pending\n'],
  ['ava with only skips', true, '  2 tests skipped\n'],
  ['ava', false, '  ✔ a\n  ─\n\n  1 test passed\n  1 test skipped\n'],
  ['tap without a test', true, 'TAP version 13\n1..0 # no tests\n'],
  ['tap with only skips', true, 'TAP version 14\nok 1 - a.js # SKIP no tests found\n1..1\n'],
  ['tap', false, 'TAP version 14\nok 1 - adds\n1..1\n# tests 1\n# pass  1\n# ok\n'],
  ['pytest without a test', true, 'collected 0 items\n\n============ no tests ran in 0.01s ============\n'],
  ['pytest with only skips', true, '============ 2 skipped in 0.01s ============\n'],
  ['pytest with all deselected', true, '========== 5 deselected, 1 warning in 0.02s ==========\n'],
  ['pytest', false, '====== 3 passed, 1 skipped, 2 warnings in 65.12s (0:01:05) ======\n'],
  ['pytest -q', false, '...  [100%]\n3 passed in 0.12s\n'],
  ['pytest with expected failures', true, '==== 1 xfailed in 0.02s ====\n'],
  ['unittest without a test', true, '\n----------\nRan 0 tests in 0.000s\n\nOK\n'],
  ['unittest that says so', true, 'Ran 0 tests in 0.000s\n\nNO TESTS RAN\n'],
  ['unittest with only skips', true, 'Ran 3 tests in 0.000s\n\nOK (skipped=3)\n'],
  ['unittest', false, 'Ran 3 tests in 0.001s\n\nOK (expected failures=1, skipped=2)\n'],
  [
    'go test with no test that matches',
    true,
    'testing: warning: no tests to run\nPASS\nok  \texample.com/a\t0.003s [no tests to run]\n',
  ],
  ['go test with no test file', true, '?   \texample.com/a\t[no test files]\n?   \texample.com/b\t[no test files]\n'],
  [
    'go test -v with only skips',
    true,
    '=== RUN   TestA\n    a_test.go:5: no\n--- SKIP: TestA (0.00s)\nPASS\nok  \texample.com/a\t0.003s\n',
  ],
  ['go test', false, '?   \texample.com/a\t[no test files]\nok  \texample.com/b\t0.003s\n'],
  ['go test from its cache', false, 'ok  \texample.com/b\t(cached)\n'],
  ['go test -v', false, '--- SKIP: TestA (0.00s)\n--- PASS: TestB (0.00s)\nPASS\nok  \texample.com/a\t0.003s\n'],
  [
    'cargo test without a test in any suite',
    true,
    'running 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\n   Doc-tests x\n\nrunning 0 tests\n\ntest result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n',
  ],
  [
    'cargo test with only ignored tests',
    true,
    'test result: ok. 0 passed; 0 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s\n',
  ],
  [
    'cargo test with one suite that has tests',
    false,
    'test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\ntest result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s\n',
  ],
  ['cargo nextest', false, '     Summary [   0.012s] 3 tests run: 3 passed, 0 skipped\n'],
  [
    'dotnet test without a test',
    true,
    'No test is available in /x/bin/x.dll. Make sure that test discoverer & executors are registered\n',
  ],
  [
    'dotnet test with a filter that matches none',
    true,
    'No test matches the given testcase filter `FullyQualifiedName~x` in /x.dll\n',
  ],
  [
    'dotnet test with only skips',
    true,
    'Skipped! - Failed:     0, Passed:     0, Skipped:     3, Total:     3, Duration: 5 ms - x.dll (net8.0)\n',
  ],
  [
    'dotnet test',
    false,
    'Passed!  - Failed:     0, Passed:     3, Skipped:     0, Total:     3, Duration: 5 ms - x.dll (net8.0)\n',
  ],
  [
    'dotnet test of .NET 9 with only skips',
    true,
    'Test summary: total: 3, failed: 0, succeeded: 0, skipped: 3, duration: 1.2s\n',
  ],
  ['dotnet test of .NET 9', false, 'Test summary: total: 3, failed: 0, succeeded: 3, skipped: 0, duration: 1.2s\n'],
  ['dotnet test at length, with only skips', true, 'Total tests: 2\n    Skipped: 2\n Total time: 0.5 Seconds\n'],
  ['dotnet test at length', false, 'Total tests: 2\n     Passed: 1\n    Skipped: 1\n'],
  ['surefire without a test', true, '[INFO] No tests to run.\n[INFO] BUILD SUCCESS\n'],
  ['surefire that is told to skip', true, '[INFO] Tests are skipped.\n'],
  [
    'surefire with only skips',
    true,
    '[WARNING] Tests run: 2, Failures: 0, Errors: 0, Skipped: 2, Time elapsed: 0.01 s -- in A\n[WARNING] Tests run: 2, Failures: 0, Errors: 0, Skipped: 2\n',
  ],
  ['surefire', false, '[INFO] No tests to run.\n[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 1\n'],
  [
    'gradle without a test',
    true,
    '> Task :compileTestJava NO-SOURCE\n> Task :testClasses UP-TO-DATE\n> Task :test NO-SOURCE\n\nBUILD SUCCESSFUL in 1s\n',
  ],
  ['gradle', false, '> Task :a:test NO-SOURCE\n> Task :b:integrationTest\n'],
  ['gradle with tests up to date', false, '> Task :test UP-TO-DATE\n'],
  ['rspec without an example', true, 'No examples found.\n\nFinished in 0.0002 seconds\n0 examples, 0 failures\n'],
  ['rspec with only pending examples', true, '2 examples, 0 failures, 2 pending\n'],
  ['rspec', false, '1 example, 0 failures\n'],
  ['minitest without a test', true, '0 runs, 0 assertions, 0 failures, 0 errors, 0 skips\n'],
  ['minitest with only skips', true, '2 runs, 0 assertions, 0 failures, 0 errors, 2 skips\n'],
  ['minitest', false, '3 runs, 5 assertions, 0 failures, 0 errors, 1 skips\n'],
  ['test-unit', false, '3 tests, 3 assertions, 0 failures, 0 errors, 0 pendings, 0 omissions, 0 notifications\n'],
  ['phpunit without a test', true, 'No tests executed!\n'],
  ['phpunit with only skips', true, 'OK, but some tests were skipped!\nTests: 3, Assertions: 0, Skipped: 3.\n'],
  ['phpunit', false, 'OK (3 tests, 5 assertions)\n'],
  [
    'phpunit with some skips',
    false,
    'OK, but incomplete, skipped, or risky tests!\nTests: 3, Assertions: 2, Incomplete: 1, Skipped: 1.\n',
  ],
  ['bats without a test', true, '\n0 tests, 0 failures\n'],
  ['bats with only skips', true, ' - a (skipped)\n\n1 test, 0 failures, 1 skipped\n'],
  ['bats in TAP with only skips', true, '1..1\nok 1 a # skip not here\n'],
  ['bats', false, ' ✓ a\n\n2 tests, 0 failures, 1 skipped\n'],
  ['ctest without a test', true, 'Test project /b\nNo tests were found!!!\n'],
  [
    'ctest with only skips',
    true,
    '1/1 Test #1: a ................***Skipped   0.00 sec\n\n100% tests passed, 0 tests failed out of 1\n',
  ],
  [
    'ctest',
    false,
    '1/1 Test #1: a ................   Passed    0.00 sec\n\n100% tests passed, 0 tests failed out of 1\n',
  ],
];

for (const [runner, vacuous, output] of RUNS) {
  test(`${runner}: ${vacuous ? 'a green that proves nothing' : 'tests were executed'}`, () => {
    assert.equal(isVacuousGreen(output), vacuous);
    assert.equal(isVacuousGreen(output.replaceAll('\n', '\r\n')), vacuous, 'with CRLF');
    assert.equal(isVacuousGreen(`> x@1.0.0 test\n> run\n\n${output}\nDone in 1.2s.`), vacuous, 'among other lines');
  });
}

test('a command that is not a test run is never vacuous', () => {
  for (const output of [
    '',
    'Checked 12 files. No fixes applied.\n',
    '0 errors, 0 warnings\n',
    'Found 0 errors.\n',
    'BUILD SUCCESSFUL\n',
    'tests\n',
  ]) {
    assert.equal(isVacuousGreen(output), false);
  }
});

test('combines two runners in one command', () => {
  assert.equal(isVacuousGreen('No tests found, exiting with code 0\n3 passed in 0.12s\n'), false);
  assert.equal(isVacuousGreen('No tests found, exiting with code 0\nno tests ran in 0.01s\n'), true);
});

test('reads a huge output in one pass', () => {
  const noise =
    `${'x'.repeat(5000)}\n`.repeat(200) + 'some log line of a build, 12 ms\n'.repeat(20_000) + ' '.repeat(2_000_000);
  assert.equal(isVacuousGreen(`${noise}\n0 passing (1ms)\n`), true);
});

test('a file that counts as passed with tests in it is not empty, however many they are', () => {
  const nested = 'TAP version 13\n    ok 1 - a\n    ok 2 - b\nok 1 - /project/a.test.js\n# tests 1\n# pass 1\n';
  assert.equal(isVacuousGreen(nested), false);
});
