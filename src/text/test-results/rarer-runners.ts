import type { Runner } from './runner.ts';

/** Runners whose counts are read, and the names of failed tests where a line says nothing else. */
export const RARER_RUNNERS: readonly Runner[] = [
  // GoogleTest
  {
    totals: [
      /^\[ {2}PASSED {2}\] (?<passed>\d+) tests?\.$/,
      /^\[ {2}FAILED {2}\] (?<failed>\d+) tests?, listed below:$/,
      /^\[ {2}SKIPPED \] (?<skipped>\d+) tests?, listed below:$/,
    ],
    named: [/^\[ {2}FAILED {2}\] (?<name>[\w/]+\.[\w/]+)/],
  },
  // Catch2, doctest
  {
    totals: [
      /^All tests passed \(.* in (?<passed>\d+) test cases?\)$/,
      /^(?:\[doctest\] )?test cases: *\d+(?= +\|)(?: +\| *(?<passed>\d+) passed)?(?: +\| *(?<failed>\d+) failed(?! as))?(?: +\| *(?<passed2>\d+) failed as expected)?(?: +\| *(?<skipped>\d+) skipped)?/,
    ],
  },
  // meson
  {
    sign: /^Ok: {10,}\d+$/,
    totals: [
      /^(?:Ok|Expected Fail): {5,}(?<passed>\d+)$/,
      /^(?:Fail|Unexpected Pass|Timeout): {3,}(?<failed>\d+)$/,
      /^Skipped: {5,}(?<skipped>\d+)$/,
    ],
    nothing: [/^No (?:suitable )?tests defined\.$/],
  },
  // Automake
  {
    sign: /^# TOTAL: +\d+$/,
    totals: [
      /^# (?:PASS|XFAIL): +(?<passed>\d+)$/,
      /^# (?:FAIL|XPASS|ERROR): +(?<failed>\d+)$/,
      /^# SKIP: +(?<skipped>\d+)$/,
    ],
    named: [/^(?:FAIL|ERROR): (?<name>\S+)$/],
  },
  // prove: with -v, the results themselves are counted as TAP
  { groups: [/^(?:\[[\d:]+\] )?\S+\.t \.{2,} ok\b/], nothing: [/^Result: NOTESTS$/, /^Files=\d+, Tests=0,/] },
  // uvu
  { sign: /^ {2}Passed: {4}\d+$/, totals: [/^ {2}Total: {5}(?<all>\d+)$/, /^ {2}(?<part>Skipped: {3}\d+)$/] },
  // karma: skipped tests are not executed ones
  {
    totals: [/^[A-Z][\w ]* [\d.]+ \(.*\): Executed (?<all>\d+) of \d+(?: \((?<failed>\d+) FAILED\))?(?= |$)/],
    lastTotalCounts: true,
  },
  // TestCafe
  { totals: [/^ (?<passed>\d+) passed \((?:\d+m )?\d+s\)$/, /^ (?<failed>\d+)\/\d+ failed \((?:\d+m )?\d+s\)$/] },
  // JUnit's console and JUnit 4
  {
    totals: [
      /^\[ +(?<passed>\d+) tests successful +\]$/,
      /^\[ +(?<failed>\d+) tests failed +\]$/,
      /^\[ +(?<skipped>\d+) tests skipped +\]$/,
      /^OK \((?<all>\d+) tests?\)$/,
      /^Tests run: (?<all>\d+), {2}Failures: (?<failed>\d+)$/,
    ],
  },
  // Microsoft.Testing.Platform
  {
    sign: /^Test run summary: /,
    totals: [/^ {2}succeeded: (?<passed>\d+)$/],
    nothing: [/^Test run summary: Zero tests ran\b/],
  },
  // NUnit, xUnit
  {
    totals: [
      /^ *Test Count: (?<all>\d+), Passed: \d+, Failed: (?<failed>\d+),.* Skipped: (?<skipped>\d+)$/,
      /^ +\S+ +Total: (?<all>\d+), Errors: (?<failed>\d+), Failed: (?<failed2>\d+), Skipped: (?<skipped>\d+),/,
    ],
  },
  // kaocha
  { totals: [/^(?<list>\d+ tests, \d+ assertions,(?: \d+ errors,)? \d+ failures)\.$/] },
  // HUnit
  { totals: [/^Cases: \d+ +Tried: (?<all>\d+) +Errors: (?<failed>\d+) +Failures: (?<failed2>\d+)$/] },
  // busted
  {
    totals: [
      /^(?<passed>\d+) success(?:es)? \/ (?<failed>\d+) failures? \/ (?<failed2>\d+) errors? \/ (?<skipped>\d+) pending\b/,
    ],
  },
  // testthat, which counts as it goes
  {
    totals: [/^\[ FAIL (?<failed>\d+) \| WARN \d+ \| SKIP (?<skipped>\d+) \| PASS (?<passed>\d+) \]/],
    lastTotalCounts: true,
  },
  // alcotest
  { totals: [/^Test Successful in .*\. (?<passed>\d+) tests? run\.$/] },
  // behave, cucumber
  {
    totals: [
      /^(?<passed>\d+) scenarios? passed, (?<failed>\d+) failed,.*?(?<skipped>\d+) skipped\b/,
      /^\d+ scenarios? \((?<list>.*)\)$/,
    ],
    nothing: [/^0 scenarios$/],
  },
  // Robot Framework: one total for each suite, then for all
  {
    totals: [/^(?<all>\d+) tests?, \d+ passed, (?<failed>\d+) failed(?:, (?<skipped>\d+) skipped)?$/],
    lastTotalCounts: true,
  },
  // pytest-sugar
  { sign: /^Results \(.*\):$/, totals: [/^ {6,}(?<list>\d+ (?:passed|failed|skipped|xfailed|xpassed|deselected))$/] },
];
