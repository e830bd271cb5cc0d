/**
 * Counts executed tests by the runners' own summaries (node:test, jest, vitest, mocha, ava, tap, pytest, unittest, go test,
 * cargo test, dotnet test, surefire, gradle, rspec, minitest, phpunit, bats, ctest), to detect a run without any. A skipped
 * test was not executed. All runs in one output are combined, because cargo prints one per suite.
 */
export interface TestCount {
  /** A runner was recognised by its summary or by a message that it found no test. */
  readonly seen: boolean;
  /** Minimum number of executed tests: some lines of one run count twice. Only zero is meaningful. */
  readonly executed: number;
  /** Number to subtract: skipped tests included in a total above them. */
  readonly skipped: number;
  /** Number of files that node:test reported as passed tests, because they contain no test. */
  readonly emptyFiles: number;
  /** Nested results were seen: a passed file may then represent its tests. */
  readonly nested: boolean;
  /** Results that a Go package has printed since the line of the previous package. */
  readonly go: { readonly ran: boolean; readonly skipped: boolean };
}

export const NO_COUNT: TestCount = {
  seen: false,
  executed: 0,
  skipped: 0,
  emptyFiles: 0,
  nested: false,
  go: { ran: false, skipped: false },
};

/** Maximum length of a runner's summary line. */
const MAX_LINE = 1000;

export function countLine(count: TestCount, raw: string): TestCount {
  if (raw.length > MAX_LINE) return count;
  const line = plain(raw);
  if (line === '') return count;
  for (const read of READERS) {
    const next = read(line, count);
    if (next !== null) return next;
  }
  return count;
}

export function isVacuous(count: TestCount): boolean {
  return count.seen && count.executed - count.skipped - (count.nested ? 0 : count.emptyFiles) <= 0;
}

type Reader = (line: string, count: TestCount) => TestCount | null;

function saw(count: TestCount, executed: number, skipped = 0): TestCount {
  return { ...count, seen: true, executed: count.executed + executed, skipped: count.skipped + skipped };
}

/** Returns a line without colours, overwritten text before a carriage return, and white space at the end. */
function plain(line: string): string {
  const text = line.includes('\u001b') ? line.replace(/\u001b\[[0-9;?]*[A-Za-z]/g, '') : line;
  const shown = text.trimEnd();
  return shown.slice(shown.lastIndexOf('\r') + 1);
}

/** Returns the sum of the numbers before these words in a list such as `1 failed | 2 passed, 3 skipped`. */
function sum(text: string, words: RegExp): number {
  let total = 0;
  for (const [, amount = '', word = ''] of text.matchAll(/(\d+) ([a-z]+)/gi))
    if (words.test(word)) total += Number(amount);
  return total;
}

type Amount = (match: RegExpExecArray) => number;

const NONE: Amount = () => 0;
const ALL: Amount = ([, ...amounts]) => amounts.reduce((all, each) => all + Number(each), 0);

/** Returns a reader of one pattern whose groups give the executed tests. */
function counts(pattern: RegExp, executed: Amount, skipped = NONE): Reader {
  return (line, count) => {
    const match = pattern.exec(line);
    return match && saw(count, executed(match), skipped(match));
  };
}

/** Returns a reader of one pattern whose first groups are a total of executed tests and its skipped part. */
function total(pattern: RegExp): Reader {
  return counts(
    pattern,
    ([, all]) => Number(all),
    ([, , skipped]) => Number(skipped ?? 0),
  );
}

/** Returns a reader of skipped tests that a total on another line includes; one test if the pattern has no number. */
function skips(pattern: RegExp): Reader {
  return (line, count) => {
    const match = pattern.exec(line);
    return match && { ...count, skipped: count.skipped + Number(match[1] ?? 1) };
  };
}

/** Reads the ways to report that there was no test. */
const noTests: Reader = (line, count) => (NO_TESTS.some((pattern) => pattern.test(line)) ? saw(count, 0) : null);

const NO_TESTS = [
  /^No tests? (?:files )?found\b/i, // jest, vitest, ava, ctest ("No tests were found!!!" below)
  /^No tests were found!!!/, // ctest
  /^\s*Tests +no tests$/, // vitest
  /^=*\s*no tests ran\b/i, // pytest, unittest
  /^No test is available in /, // dotnet
  /^No test matches the given testcase filter/, // dotnet
  /^\s*Zero tests ran\b/i, // dotnet
  /^(?:\[\w+\] )?(?:No tests to run|There are no tests to run|Tests are skipped)\.$/, // surefire
  /^No examples found\.$/, // rspec
  /^No tests executed!$/, // phpunit
  /^\s*(?:✘|✖|×)? ?Couldn.t find any (?:files to test|tests)/, // ava
  /^1\.\.0\b/, // tap
  /^testing: warning: no tests to run$/, // go
  /^\?\s+\S+\s+\[no test files\]$/, // go
  /^\t\S+\t+coverage: 0\.0% of statements$/, // go with -cover
];

/** Node.js 22 and newer print a relative path; only the form of a test file's name distinguishes it from a test's. */
const NODE_FILE = String.raw`(?:(?:\/|[A-Za-z]:[\\/]).*|(?:.*[\\/])?(?:test(?:-.*)?|.*[._-](?:test|spec)))\.[cm]?[jt]sx?`;
const NODE_FILE_LINES = [`^ok \\d+ - ${NODE_FILE}$`, `^✔ ${NODE_FILE} \\([\\d.]+ms\\)$`].map(
  (line) => new RegExp(line),
);

/** Reads a file without a test, which node:test passes under its own path. Counts only without nested results. */
const nodeFile: Reader = (line, count) => {
  if (/^(?: {4}(?:not )?ok \d| {2}[✔✖] )/.test(line)) return count.nested ? count : { ...count, nested: true };
  // A TAP line would count itself and in the summary; here it counts only in the summary.
  return NODE_FILE_LINES.some((pattern) => pattern.test(line)) ? { ...count, emptyFiles: count.emptyFiles + 1 } : null;
};

/** Reads jest `Tests: 1 skipped, 2 passed, 3 total`, vitest `Tests  2 passed | 1 skipped (3)`, Pest, phpunit. */
const testsLine: Reader = (line, count) => {
  const phpunit = /^Tests: (\d+), Assertions: \d+/.exec(line);
  if (phpunit !== null) {
    const left = [...line.matchAll(/(?:Skipped|Incomplete): (\d+)/g)].reduce((all, [, each]) => all + Number(each), 0);
    return saw(count, Number(phpunit[1]), left);
  }
  const match = /^\s*Tests:? +(\d.*)$/.exec(line);
  if (match === null) return null;
  const [, list = ''] = match;
  return saw(count, sum(list, /^(?:passed|failed)$/));
};

const pytest: Reader = (line, count) => {
  const match = /^=*\s*(\d+ [a-z].*) in \d+(?:\.\d+)?s(?: \([\d:.a-z, ]+\))?\s*=*$/.exec(line);
  const [, list = ''] = match ?? [];
  if (!/\d+ (?:passed|failed|errors?|xfailed|xpassed|skipped|deselected)\b/.test(list)) return null;
  return saw(count, sum(list, /^(?:passed|failed|errors?|xfailed|xpassed)$/));
};

const goResult: Reader = (line, count) => {
  const match = /^\s*--- (PASS|FAIL|SKIP): /.exec(line);
  if (match === null) return null;
  return { ...count, go: { ...count.go, [match[1] === 'SKIP' ? 'skipped' : 'ran']: true } };
};
const goPackage: Reader = (line, count) => {
  if (!/^(?:ok {2}|FAIL)\t/.test(line)) return null;
  const none = line.includes('[no tests to run]') || (count.go.skipped && !count.go.ran);
  return { ...saw(count, none ? 0 : 1), go: NO_COUNT.go };
};

const READERS: readonly Reader[] = [
  noTests,
  // node:test in both reporters; `# tests` is tape's and tap's too.
  counts(/^(?:ℹ|#) (tests|pass|fail|cancelled) +(\d+)$/, ([, what, amount]) => (what === 'tests' ? 0 : Number(amount))),
  nodeFile,
  // TAP
  counts(/^(?:not )?ok \d+\b(.*)$/, ([, name = '']) => (/(?:^|\s)# *(?:skip|todo)/i.test(name) ? 0 : 1)),
  testsLine,
  total(/^\s*(\d+) (?:passing|failing)\b/), // mocha
  counts(/^\s*\d+ pending$/, NONE), // mocha
  total(/^\s*(\d+) tests? (?:passed|failed)$/), // ava
  counts(/^\s*\d+ tests? (?:skipped|todo)$/, NONE), // ava
  total(/^Asserts: +(\d+) /), // node-tap
  pytest,
  total(/^Ran (\d+) tests? in /), // unittest
  skips(/^(?:OK|FAILED) \((?:.*, )?skipped=(\d+)/), // unittest
  goResult,
  goPackage,
  counts(/^test result: \w+\. (\d+) passed; (\d+) failed; \d+ ignored; (\d+) measured/, ALL), // cargo
  total(/^\s*Summary \[[^\]]*\]\s+(\d+) tests? run:/), // nextest
  counts(/^\s*(?:Passed|Failed|Skipped)! +- Failed: +(\d+), Passed: +(\d+), Skipped: +\d+/, ALL), // dotnet
  total(/^\s*Test summary: total: (\d+), failed: \d+, succeeded: \d+, skipped: (\d+)/), // dotnet
  total(/^Total tests: (\d+)$/), // vstest
  skips(/^ {2,}Skipped: (\d+)$/), // vstest
  total(/^(?:\[\w+\] )?Tests run: (\d+), Failures: \d+, Errors: \d+, Skipped: (\d+)/), // surefire
  // gradle, only the tasks that run tests: `:app:test`, `:integrationTest`, not `:compileTestJava`
  counts(/^> Task :(?:\S+:)?\w*[tT]est(?: (NO-SOURCE|SKIPPED|UP-TO-DATE|FROM-CACHE|FAILED))?$/, ([, why]) =>
    why === 'NO-SOURCE' || why === 'SKIPPED' ? 0 : 1,
  ),
  total(/^(\d+) examples?, \d+ failures?(?:, (\d+) pending)?/), // rspec
  total(/^(\d+) (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors, (\d+) (?:skips|pendings)/), // minitest, test-unit
  total(/^OK \((\d+) tests?, \d+ assertions?\)$/), // phpunit
  total(/^(\d+) tests?, \d+ failures?(?:, (\d+) skipped)?/), // bats
  total(/^\d+% tests passed, \d+ tests failed out of (\d+)$/), // ctest
  skips(/^\s*\d+\/\d+ Test +#\d+: .*\*\*\*Skipped/), // ctest
];
