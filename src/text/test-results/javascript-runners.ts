import type { Runner } from './runner.ts';

/** Node.js 22 and newer print a relative path; only the form of its name distinguishes a test file from a test. */
const NODE_FILE = String.raw`(?:(?:\/|[A-Za-z]:[\\/]).*|(?:.*[\\/])?(?:test(?:-.*)?|.*[._-](?:test|spec)))\.[cm]?[jt]sx?`;

export const JEST_JSON =
  /^\{"num\w+":(?=.*?"numFailedTests":(?<failed>\d+),)(?=.*?"numPassedTests":(?<passed>\d+),)(?=.*?"numPendingTests":(?<skipped>\d+),)(?=.*?"numTodoTests":(?<skipped2>\d+),|)/;

/** Result of a test, indented below that of its file. */
const NESTED = /^(?: {4}(?:not )?ok \d| {2}[✔✖] )/;

export const JAVASCRIPT_RUNNERS: readonly Runner[] = [
  // TAP: node:test, tape, node-tap, ava --tap, bats, prove
  {
    opens: /^TAP version 1[34]$/,
    totals: [
      /^# tests +\d+$/, // includes what was skipped
      /^# (?<pairs>(?:pass|fail|cancelled|skip|skipped|todo) +\d+)$/,
      /^# \{ total: \d+, (?<pairs>.*) \}$/, // node-tap
    ],
    results: [
      /^(?:not )?ok (?:\d+\b|- )(?!.* # \S+ \{$).*# *(?:skip|todo)(?<skip>)/i,
      /^not ok (?:\d+\b|- )(?!.* # \S+ \{$)(?<fail>)/,
      /^ok (?:\d+\b|- )(?!.* # \S+ \{$)(?<pass>)/,
      // vitest, whose files and suites contain their tests
      /^ {4,}ok \d+ - .* # time=[\d.]+ms$(?<pass>)/,
      /^ {4,}not ok \d+ - .* # time=[\d.]+ms$(?<fail>)/,
      /^ {4,}ok \d+ - .* # (?:SKIP|TODO)$(?<skip>)/,
      /^Asserts: +(?<list>\d+ pass .*?)(?: +\d+ of \d+ complete)?$/, // node-tap, base
    ],
    file: /^ok \d+ - .* # time=\S+ \{$/,
    nothing: [/^1\.\.0\b/],
    failed: [
      /^(?<indent> *)not ok (?:\d+|(?=-))(?: ?-)? (?!.*(?:# *(?:skip|todo)|\{$))(?<name>.+?)(?: # time=.*)?$/i,
      /^(?<indent>)✖ (?<name>.+ > .+)$/, // node-tap, base
    ],
    reasons: [
      /^ *location: '(?<file>.+?):(?<line>\d+):\d+'$/,
      /^ *(?:error|message): '?(?<message>[^'\s].*?)'?,?$/,
      /^# +\(in (?:test )?file (?<file>.+), line (?<line>\d+)\)$/, // bats
      /^# {3}(?<message>`.* failed.*)$/,
    ],
    begins:
      /^(?: *(?:ok \d+\b|# Subtest: (?<title>))|TAP version|# (?!Subtest: |TODO |Looks like |tests |pass |fail |\(in | {2})(?<title2>\S.*)$)/,
    namesAll: true,
    emptyFile: [new RegExp(`^ok \\d+ - ${NODE_FILE}$`)],
    nested: NESTED,
  },
  // node:test for people
  {
    totals: [/^ℹ tests +\d+$/, /^ℹ (?<pairs>(?:pass|fail|cancelled|skipped|todo) +\d+)$/],
    list: { begins: /^(?:✖ failing tests|Failed tests):$/ },
    // With a note behind it, it was expected to fail.
    failed: [/^ *✖ (?<name>.+) \([\d.]+ms\)$/],
    begins: /^test at (?<file>.+):(?<line>\d+):\d+$/,
    reasons: [/^ +(?<message>\w*Error(?: \[\w+\])?: .+|'.+')$/],
    emptyFile: [new RegExp(`^✔ ${NODE_FILE} \\([\\d.]+ms\\)$`)],
    nested: NESTED,
  },
  // jest, vitest, Pest
  {
    opens: /^ RUN {2}v\d/,
    totals: [
      // Jest indents by four blanks what a test prints.
      /^(?! {3,5}\S)\s*Tests:? +(?<list>\d.*)$/,
      /^ {5}(?<part>Errors +\d+) errors?$/, // vitest, outside a test
      // A file that could not be run is not a test in the total.
      /^ {2}● (?:\S.* › )?Test suite failed to run(?<part>)(?<partFail>)$/,
      /^ *FAIL +(?:\|[^|]*\| +)?\S+ \[ \S+ \](?<part>)(?<partFail>)$/,
    ],
    // Jest prints its JSON beside the total.
    results: [JEST_JSON, /^ BENCH {2}Summary$(?<pass>)/],
    nothing: [
      /^(?: *INFO +)?No tests? (?:files )?found\b/i,
      /^\s*Tests +no tests$/,
      /^ {2}● {2}process\.exit called with "0"$/, // jest, which ends there
    ],
    failed: [
      /^ {2}● +(?<name>.+)$/,
      /^ *FAIL +(?:\|[^|]*\| +)?(?<file>[^>\s][^>]*?) > (?<name>.+)$/,
      /^ *FAILED +(?<name>\S.* > .+)$/,
      /^⎯+ (?<name>Uncaught Exception|Unhandled Rejection) ⎯+$/,
    ],
    begins: /^(?: *(?:PASS|FAIL|RUNS) +\S+$|Test Suites: | Test Files )/,
  },
  // mocha, cypress
  {
    totals: [
      /^ {0,2}(?<list>\d+ (?:passing|failing))\b/,
      /^ {0,2}(?<list>\d+ pending)$/,
      /^\["end",\{"suites":\d+,"tests":\d+,"passes":(?<passed>\d+),"pending":(?<skipped>\d+),"failures":(?<failed>\d+),/,
    ],
    list: { begins: /^ {0,2}\d+ failing$/ },
    failed: [/^ {2}\d+\) (?<name>.+?):?$/],
    nameGoesOn: /^ {7,}(?<name>\S.*?):?$/,
  },
  // JSON of mocha, cypress and playwright
  {
    sign: /^ {4}"(?:passes|expected)": \d+,$/,
    totals: [
      /^ {4}"(?:passes|expected|flaky)": (?<passed>\d+),?$/,
      /^ {4}"(?:failures|unexpected)": (?<failed>\d+),$/,
      /^ {4}"(?:pending|skipped)": (?<skipped>\d+),$/,
    ],
  },
  // ava
  {
    totals: [
      /^ {0,2}(?<passed>\d+) tests? passed$/,
      /^ {0,2}(?<failed>\d+) (?:tests? failed|uncaught exceptions?|unhandled rejections?)$/,
      /^ {0,2}(?<skipped>\d+) tests? (?:skipped|todo)$/,
    ],
    nothing: [/^\s*(?:✘|✖|×)? ?(?:Couldn.t find any (?:files to test|(?:matching )?tests)|No tests found in )/],
    named: [/^ *(?:✘|✖) \[fail\]: (?<name>.+?)(?: Error thrown in test)?$/],
    list: { begins: /^ *─+$/ },
    titles: /^ {2}(?<name>\S.*)$/,
  },
  // bun
  {
    opens: /^bun test v\d/,
    totals: [/^ ?(?<list>\d+ (?:pass|fail|skip|todo))$/],
    nothing: [
      /^Ran 0 tests across /,
      /^error: regex ".*" matched 0 tests/,
      /^The following filters did not match any test/,
    ],
    failed: [/^ *\(fail\) (?<name>.+?)(?: \[[\d.]+m?s\])?$/],
    reasons: [/^error: (?<message>.+)$/],
    begins: /^(?: *\((?:pass|skip|todo|fail)\) |bun test v|\S+:$)(?<before>)/,
  },
  // deno
  {
    opens: /^running \d+ tests? from /,
    totals: [/^(?:ok|FAILED) \| (?<list>\d+ passed.*)$/],
    nothing: [/^error: No test modules found/],
    list: { begins: /^ ?ERRORS ?$/, ends: /^ ?FAILURES ?$/ },
    failed: [/^(?<name>\S.*) => (?<file>.+):(?<line>\d+):\d+$/],
    reasons: [/^error: (?<message>.+)$/],
  },
  // playwright
  {
    opens: /^Running \d+ tests? using /,
    totals: [/^ {2}(?<list>\d+ (?:passed|failed|skipped|flaky|interrupted))(?: \([\d.]+\w+\))?$/],
    nothing: [
      /^(?:Error: No tests found|Running 0 tests using|Listing tests:$|::notice title=🎭 Playwright Run Summary::$)/,
    ],
    failed: [/^ {2}\d+\) (?:\[.+?\] › )?(?<file>\S+):(?<line>\d+):\d+ › (?<name>.+?)(?: ─+)?$/],
  },
];
