import type { Runner } from './runner.ts';

export const OTHER_RUNNERS: readonly Runner[] = [
  // JUnit's XML, with one element on a line: node:test, bats, vitest, mocha
  {
    totals: [/^\t<!-- (?<pairs>(?:pass|fail|cancelled|skipped|todo) \d+) -->$/], // node:test
    results: [
      /^\s*<testcase\b(?!.*<testcase\b).*<skipped\b(?<skip>)/,
      /^\s*<testcase\b(?!.*<testcase\b).*<(?:failure|error)\b(?<fail>)/,
      /^\s*<testcase\b(?!.*<testcase\b)(?<pass>)/,
      /^\s*<(?:failure|error)\b(?<partFail>)/,
      /^\s*<(?:skipped\b|property name="(?:skip|todo)" value="true")(?<partSkip>)/,
    ],
    nothing: [/^<testsuites?\b[^<]*>$/],
    named: [
      /^\s*(?:<testcase\b.* name="(?<name>[^"]*)".*)?<(?:failure|error)\b(?:[^>]*\bmessage="(?<message>[^"]*)")?/,
    ],
    begins: /^\s*<testcase\b(?!.*<testcase\b).*? name="(?<name>[^"]*)"/,
    emptyFile: [/^\s*<testcase name="(?:\/|[A-Z]:)[^"]*\.[cm]?[jt]s" .*classname="test"\/>$/],
  },
  // pytest
  {
    opens: /^=+ test session starts =+$/,
    totals: [
      /^(?:=+ +)?(?! )(?=.*\d (?:passed|failed|errors?|xfailed|xpassed|skipped|deselected)\b)(?<list>\d+ [a-z].*) in \d+(?:\.\d+)?s(?: \([\d:.a-z, ]+\))?\s*=*$/,
    ],
    // The dots are counted with -qq, which prints no total.
    results: [/^(?:\S+\.py )?(?<letters>[.FEsxX]+) +\[ *\d+%\]$/],
    // unittest prints this too; with --collect-only, nothing runs.
    nothing: [/^=*\s*no tests ran\b/i, /^(?:=+ )?(?:no|\d+(?:\/\d+)?) tests? collected\b/],
    failed: [/^_{3,} (?:ERROR (?:collecting|at \w+ of) )?(?<name>\S.*?) _{3,}$/],
    named: [/^(?:FAILED|ERROR) (?<file>[^\s:]+)(?:::(?<name>.+?))?(?: - (?<message>.+))?$/],
    reasons: [/^E {3}\s*(?<message>(?:assert |fixture |[\w.]+(?:: |$)).*)$/],
    begins: /^=+ .* =+$/,
  },
  // unittest, shUnit2, clojure.test
  {
    totals: [/^Ran (?<list>\d+ tests?)(?: in |\.$| containing \d)/, /^(?:OK|FAILED) \((?<part>.+=.+)\)$/],
    // Since Python 3.11, the path in brackets ends with the name before them.
    failed: [/^(?:FAIL|ERROR): (\w+) \((?<name>[\w.]+\.\1)\)$/, /^(?:FAIL|ERROR): (?<name>\S.*)$/],
    reasons: [/^(?<message>[\w.]*(?:Error|Exception|Failure|Exit|Interrupt)(?:: .*)?)$/],
  },
  // go test
  {
    opens: /^=== RUN /,
    results: [/^--- PASS: (?<pass>)/, /^--- FAIL: (?<fail>)/, /^--- SKIP: (?<skip>)/],
    groups: [/^ok {2}\t(?!.*\[no tests to run\])/, /^FAIL\t(?<failed>\S+(?: \[[a-z ]+\])?)/],
    nothing: [
      /^testing: warning: no tests to run$/,
      /^ok {2}\t.*\[no tests to run\]/,
      /^\?\s+\S+\s+\[no test files\]$/,
      /^\t\S+\t+coverage: 0\.0% of statements$/,
    ],
    failed: [/^ *--- FAIL: (?<name>\S+)/, /^=== FAIL: \S+ (?<name>\S+)/],
    totals: [/^DONE (?:\d+ runs, )?(?<list>\d+ tests?\b.*?)(?: in .*)?$/], // gotestsum
    reasons: [/^\s+(?<file>[^\s:]+\.go):(?<line>\d+): (?<message>.+)$/, /^(?<message>panic: .+)$/],
    begins: /^(?:=== (?:RUN|CONT|NAME|PAUSE|SKIP: \S+) +(?<name>\S+)|(?:ok|FAIL)\b|--- (?:PASS|SKIP): )/,
  },
  // cargo test, nextest
  {
    opens: /^running \d+ tests?$/,
    totals: [/^test result: \w+\. (?<list>.*)$/, /^\s*Summary \[[^\]]*\]\s+\d+(?:\/\d+)? tests? run: (?<list>.*)$/],
    named: [/^test (?<name>\S+) (?:- .+ )?\.\.\. FAILED$/],
    failed: [
      /^---- (?<name>\S+) stdout ----$/,
      /^\s+(?:FAIL|SIG[A-Z]+|TIMEOUT) \[.*?\] (?:\( *\d+\/\d+\) )?(?<name>\S.*)$/,
    ],
    reasons: [
      /panicked at '(?<message>.*)', (?<file>.+):(?<line>\d+):\d+$/,
      /(?<message>panicked at (?<file>\S+?):(?<line>\d+):\d+:)$/,
      /^ *(?<message>Error: .+)$/,
    ],
    begins: /^failures:$/,
  },
  // dotnet
  {
    totals: [
      /^\s*(?:Passed|Failed|Skipped)! +- (?<pairs>Failed: +\d+, Passed: +\d+, Skipped: +\d+)/,
      /^\s*Test summary: total: (?<all>\d+), failed: (?<failed>\d+), succeeded: \d+, skipped: (?<skipped>\d+)/,
      /^Total tests: (?<all>\d+)$/,
      /^ {2,}(?<part>(?:Skipped|Failed): \d+)$/,
    ],
    nothing: [/^No test is available in /, /^No test matches the given testcase filter/, /^\s*Zero tests ran\b/i],
    failed: [/^ +(?:Failed|X) (?<name>\S.*) \[.*\]$/],
    reasons: [
      /^\s*(?<file>[^\s(][^(]*)\((?<line>\d+)\): error TESTERROR: (?<name>\S+) \(.*?\): Error Message: (?<message>.*)$/,
    ],
  },
  // surefire, failsafe, Ant
  {
    totals: [
      /^ *(?:\[\w+\] )?Tests run: (?<all>\d+), Failures: (?<failed>\d+), Errors: (?<failed2>\d+), Skipped: (?<skipped>\d+)(?!.*Time elapsed)/,
    ],
    results: [
      /^ *(?:\[\w+\] )?Tests run: (?<all>\d+), Failures: (?<failed>\d+), Errors: (?<failed2>\d+), Skipped: (?<skipped>\d+), Time elapsed/,
    ],
    nothing: [
      /^(?:\[\w+\] )?(?:No tests to run|There are no tests to run|Tests are skipped)\.$/,
      // Says no more if it finds no test.
      /^\[INFO\] --- (?:maven-)?(?:surefire|failsafe)(?:-plugin)?:\S+:(?:test|integration-test) \(/,
    ],
    failed: [/^(?:\[\w+\] )?(?<name>[\w.$]+(?:\([\w.$]*\))?)(?: --)?\s+Time elapsed: .*<<< (?:FAILURE|ERROR)!/],
    begins: /^\[\w+\] (?:Tests run|Results|Failures|Errors):/,
  },
  // gradle, but only tasks that run tests: `:app:test`, `:integrationTest`, not `:compileTestJava`
  {
    totals: [/^(?<list>\d+ tests? completed.*)$/],
    groups: [/^(?:> Task )?:(?:\S+:)?\w*[tT]est(?: (?:UP-TO-DATE|FROM-CACHE|FAILED))?$/],
    nothing: [/^(?:> Task )?:(?:\S+:)?\w*[tT]est (?:NO-SOURCE|SKIPPED)$/, /No tests found for given includes/],
    failed: [/^(?=\S.* > )(?<name>.+) FAILED$/],
    begins: /^> Task /,
  },
  // sbt: its own total, else ScalaTest's
  {
    totals: [/^\[(?:info|error)\] (?:Passed|Failed|Error): Total \d+, (?<pairs>Failed \d+, Errors \d+, Passed \d+.*)$/],
    results: [/^(?:\[\w+\] )?Tests: (?<pairs>succeeded \d+, failed \d+, canceled \d+, ignored \d+, pending \d+)$/],
    nothing: [/^(?:\[\w+\] )?No tests? (?:were|was) executed/, /^\[info\] No tests to run for /],
    failed: [
      /^\[(?:info|error)\] +- (?<name>.+) \*\*\* FAILED \*\*\*/,
      /^\[error\] Test (?<name>\S+) failed: /,
      /^(?:\[error\] )?==> X (?<name>\S+) /,
    ],
  },
  // rspec, jasmine
  {
    totals: [/^(?<list>\d+ (?:examples?|specs?), \d+ failures?.*)$/],
    nothing: [/^No examples found\.$/, /^All examples were filtered out/, /^(?:Incomplete: )?No specs found/],
    list: { begins: /^Failures:$/, ends: /^(?:Pending:|Finished in |Failed examples:)/ },
    failed: [/^ *\d+\) (?<name>.+)$/],
  },
  // minitest, test-unit
  {
    opens: /^# Running:$/,
    totals: [/^(?<list>\d+ (?:runs|tests), \d+ assertions, \d+ failures, \d+ errors, .*)$/],
    failed: [
      /^(?<name>[^\s#]+#\S+)(?: \[(?<file>.+):(?<line>\d+)\])?:$/,
      /^(?:Failure|Error): (?<name>\w\S*\(.+?\))(?:: (?<message>.+))?$/,
    ],
    list: { begins: /^(?:(?: +\d+\) )?(?:Failure|Error):|=+)$/, ends: /^ +\d+\) Skipped:$/ },
    begins: /^(?:=+|Omission: .*)$/,
  },
  // phpunit
  {
    opens: /^PHPUnit \d.* by /,
    totals: [
      /^OK \((?<list>\d+ tests?), \d+ assertions?\)$/,
      /^Tests: (?<skipped>\d+), Assertions: 0, (?:Warnings|Risky): \d+\.$/, // tests that assert nothing, or none at all
      /^(?<pairs>Tests: \d+, Assertions: \d+.*)$/,
    ],
    nothing: [/^No tests executed!$/],
    list: { begins: /^There (?:was|were) \d+ (?:failure|error)s?:$/, ends: /^There (?:was|were) \d+ / },
    failed: [/^\d+\) (?<name>[\w\\]+::\S.*)$/],
    begins: /^(?:FAILURES|ERRORS)!$/,
  },
  // bats, ExUnit
  {
    totals: [/^(?<list>(?:\d+ doctests?, |\d+ propert(?:y|ies), )*\d+ tests?, \d+ failures?.*)$/],
    nothing: [/^(?:All tests have been excluded|There are no tests to run)/],
    failed: [/^ *(?:✗|✖) (?<name>.+)$/, /^ +\d+\) (?<name>(?:test|doctest|property) .+)$/],
    reasons: [/^ +\(in (?:test )?file (?<file>.+), line (?<line>\d+)\)$/, /^ {5}(?<message>`.* failed.*)$/],
    begins: /^ *(?:✓|-) /,
  },
  // ctest
  {
    opens: /^Test project /,
    totals: [
      /^\d+% tests passed, (?<failed>\d+) tests failed out of (?<all>\d+)$/,
      /^\s*\d+\/\d+ Test +#\d+: .*\*\*\*(?<partSkip>)Skipped/,
    ],
    nothing: [/^No tests were found!!!/],
    named: [
      /^\t +\d+ - (?<name>\S.*) \((?:Failed|Timeout|SEGFAULT|Not Run|ILLEGAL|Subprocess aborted|BAD_COMMAND|Exception.*)\)/,
    ],
  },
  // swift: XCTest prints one total for each suite, then for all
  {
    totals: [/^\s*Executed (?<all>\d+) tests?, with (?:(?<skipped>\d+) tests? skipped and )?(?<failed>\d+) failures?/],
    lastTotalCounts: true,
    nothing: [/^warning: No matching test cases were run$/],
    failed: [/^(?<file>\S.*?):(?<line>\d+): error: (?:-\[)?(?<name>[\w. ]+?)\]? : (?<message>.+)$/],
  },
  {
    totals: [
      /^\S+ +Test run with (?<all>\d+) tests?\b.* (?:passed|failed) after [\d.]+ seconds(?: with (?<failed>\d+) issues?)?/,
    ],
    failed: [/^\S+ +Test (?<name>.+) recorded an issue at (?<file>\S+?):(?<line>\d+):\d+: (?<message>.+)$/],
  },
  // zig, EUnit, tasty
  {
    totals: [/^\s*All (?<passed>\d+) tests passed(?:\.$| \(\d)/, /^(?<list>\d+ passed; \d+ skipped; \d+ failed\.)$/],
    results: [/^ {2}Test passed\.(?<pass>)$/],
    nothing: [/^\s*There were no tests to run\.$/],
    failed: [
      /^(?:\d+\/\d+ )?(?<name>\S.*?)\.\.\. ?FAIL \((?<message>.+)\)$/,
      /^error: '(?<name>.+)' failed: (?<message>.+)$/,
    ],
  },
  // dart, flutter
  {
    totals: [
      /^\d\d:\d\d \+(?<passed>\d+)(?: ~(?<skipped>\d+))?(?: -(?<failed>\d+))?: (?:All tests passed!|Some tests failed\.|All tests skipped\.)$/,
    ],
    nothing: [/^No tests (?:ran|match)\b/, /^\d\d:\d\d \+0: No tests ran\.$/],
    failed: [/^\d\d:\d\d \+\d+(?: ~\d+)? -\d+: (?:\S+\.dart: )?(?<name>.+) \[E\]$/],
    begins: /^\d\d:\d\d \+(?!.* \[E\]$)/,
  },
  // For the following runners, counts are read, and names of failed tests on lines of their own. A count is a total.
  {
    totals: [
      // GoogleTest
      /^\[ {2}PASSED {2}\] (?<passed>\d+) tests?\.$/,
      /^\[ {2}FAILED {2}\] (?<failed>\d+) tests?, listed below:$/,
      /^\[ {2}SKIPPED \] (?<skipped>\d+) tests?, listed below:$/,
      // Catch2, doctest
      /^All tests passed \(.* in (?<passed>\d+) test cases?\)$/,
      /^(?:\[doctest\] )?test cases: *\d+(?= +\|)(?: +\| *(?<passed>\d+) passed)?(?: +\| *(?<failed>\d+) failed(?! as))?(?: +\| *(?<passed2>\d+) failed as expected)?(?: +\| *(?<skipped>\d+) skipped)?/,
      // TestCafe
      /^ (?<passed>\d+) passed \((?:\d+m )?\d+s\)$/,
      /^ (?<failed>\d+)\/\d+ failed \((?:\d+m )?\d+s\)$/,
      // JUnit's console and JUnit 4
      /^\[ +(?<passed>\d+) tests successful +\]$/,
      /^\[ +(?<failed>\d+) tests failed +\]$/,
      /^\[ +(?<skipped>\d+) tests skipped +\]$/,
      /^OK \((?<all>\d+) tests?\)$/,
      /^Tests run: (?<all>\d+), {2}Failures: (?<failed>\d+)$/,
      // NUnit, xUnit
      /^ *Test Count: (?<all>\d+), Passed: \d+, Failed: (?<failed>\d+),.* Skipped: (?<skipped>\d+)$/,
      /^ +\S+ +Total: (?<all>\d+), Errors: (?<failed>\d+), Failed: (?<failed2>\d+), Skipped: (?<skipped>\d+),/,
      // busted
      /^(?<passed>\d+) success(?:es)? \/ (?<failed>\d+) failures? \/ (?<failed2>\d+) errors? \/ (?<skipped>\d+) pending\b/,
      // behave, cucumber
      /^(?<passed>\d+) scenarios? passed, (?<failed>\d+) failed,.*?(?<skipped>\d+) skipped\b/,
      /^\d+ scenarios? \((?<list>.*)\)$/,
    ],
    nothing: [/^0 scenarios$/],
    named: [/^\[ {2}FAILED {2}\] (?<name>[\w/]+\.[\w/]+)/],
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
  // uvu, whose total is without skipped tests
  { sign: /^ {2}Passed: {4}\d+$/, totals: [/^ {2}Total: {5}(?<all>\d+)$/, /^ {2}Skipped: {3}(?<skipped>\d+)$/] },
  // karma: skipped tests are not executed ones
  {
    totals: [/^[A-Z][\w ]* [\d.]+ \(.*\): Executed (?<all>\d+) of \d+(?: \((?<failed>\d+) FAILED\))?(?= |$)/],
    lastTotalCounts: true,
  },
  // Microsoft.Testing.Platform
  {
    sign: /^Test run summary: /,
    totals: [/^ {2}succeeded: (?<passed>\d+)$/],
    nothing: [/^Test run summary: Zero tests ran\b/],
  },
  // testthat, which prints running counts
  {
    totals: [/^\[ FAIL (?<failed>\d+) \| WARN \d+ \| SKIP (?<skipped>\d+) \| PASS (?<passed>\d+) \]/],
    lastTotalCounts: true,
  },
  // Robot Framework: one total for each suite, then for all
  {
    totals: [/^(?<all>\d+) tests?, \d+ passed, (?<failed>\d+) failed(?:, (?<skipped>\d+) skipped)?$/],
    lastTotalCounts: true,
  },
  // pytest-sugar
  { sign: /^Results \(.*\):$/, totals: [/^ {6,}(?<list>\d+ (?:passed|failed|skipped|xfailed|xpassed|deselected))$/] },
];
