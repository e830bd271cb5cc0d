import assert from 'node:assert/strict';
import { test } from 'node:test';
import { evaluateRun, type TddRun } from '../../../../src/engine/tdd/evaluate-run.ts';
import { render } from '../../../../src/text/message.ts';
import { summaryOf } from '../../support/summary-of.ts';

const judge = (...[phase, run]: Parameters<typeof evaluateRun>): string | null => {
  const why = evaluateRun(phase, run);
  return why === null ? null : render(why, { name: null, mode: 'hook' });
};

const run = (code: number, output = ''): TddRun => ({
  end: { kind: 'exit', code },
  output,
  tests: summaryOf(output),
});
const PASSING = '# tests 1\n# pass 1\n# fail 0';
const FAILING = '# tests 1\n# pass 0\n# fail 1';
const NONE = '# tests 0\n# pass 0\n# fail 0';

test('red has to fail; green and refactored have to pass', () => {
  assert.equal(judge('red', run(1, FAILING)), null);
  assert.match(judge('red', run(0, PASSING)) ?? '', /it already passes/);
  assert.equal(judge('green', run(0, PASSING)), null);
  assert.match(judge('green', run(1, FAILING)) ?? '', /it still fails \(exit code 1\)/);
  assert.equal(judge('refactored', run(0, PASSING)), null);
  assert.match(judge('refactored', run(1, FAILING)) ?? '', /fails now/);
});

test('a program that is not a known test runner counts by its exit code', () => {
  assert.equal(judge('red', run(1, 'expected 3, got 2')), null);
  assert.equal(judge('green', run(0, 'all good')), null);
});

test('a run that executed no test is neither red nor green', () => {
  for (const phase of ['red', 'green', 'refactored'] as const) {
    for (const code of [0, 1]) assert.match(judge(phase, run(code, NONE)) ?? '', /no test was executed/);
  }
});

const NEVER_BEGAN: readonly (readonly [number, string])[] = [
  [127, 'bash: line 1: nosuch: command not found'],
  [126, 'bash: line 1: ./check.sh: Permission denied'],
  [2, "bash: -c: line 1: syntax error near unexpected token `('"],
  [2, 'bash: -c: line 1: unexpected EOF while looking for matching `"\''],
  [2, 'sh: 1: Syntax error: "(" unexpected'],
  [1, "Could not find '/p/tests/none.test.js'"],
  [1, 'npm error Missing script: "test:none"\nnpm error'],
  [1, 'npm ERR! Missing script: "test:none"'],
  [1, ' ERR_PNPM_NO_SCRIPT  Missing script: none'],
  [254, "npm error code ENOENT\nnpm error enoent Could not read package.json: Error: ENOENT: no such file, open 'p'"],
  [1, '\u001b[31mnpm error\u001b[0m code E404\nnpm error 404 Not Found - GET https://registry.npmjs.org/none'],
  [1, 'npm error could not determine executable to run'],
  [1, ' ERR_PNPM_NO_IMPORTER_MANIFEST_FOUND  No package.json was found'],
  [1, 'error Command "none" not found.'],
  [1, 'error Couldn\'t find a package.json file in "/p"'],
  [1, 'Usage Error: Couldn\'t find a script named "none".'],
  [1, 'error: Script not found "none"'],
  [1, "Error: Cannot find module '/p/none.js'\n  code: 'MODULE_NOT_FOUND',\n  requireStack: []\n}"],
  [9, 'node: bad option: --none'],
  [2, "/usr/bin/python3.11: can't open file '/p/none.py': [Errno 2] No such file or directory"],
  [1, '/usr/bin/python3: No module named pytest'],
  [1, 'ruby: No such file or directory -- none.rb (LoadError)'],
  [2, 'Can\'t open perl script "none.pl": No such file or directory'],
  [1, 'Could not open input file: none.php'],
  [2, 'sh: 0: cannot open none.sh: No such file'],
  [1, 'bash: line 1: cd: none: No such file or directory'],
  [2, 'make: *** No targets specified and no makefile found.  Stop.'],
  [101, 'error: could not find `Cargo.toml` in `/p` or any parent directory'],
  [1, 'go: cannot find main module, but found .git/config in /p'],
  [4, 'ERROR: file or directory not found: tests/none.py\n\n=== no tests ran in 0.00s ==='],
  [4, 'ERROR: file or directory not found: tests/none.py'],
  [2, "make: *** No rule to make target 'none'.  Stop."],
  [101, 'error: no test target named `none`.'],
];
for (const [code, output] of NEVER_BEGAN) {
  test(`a command that ran no test is not red: ${output.split('\n')[0]}`, () => {
    assert.notEqual(judge('red', run(code, output)), null);
  });
}

test('a test that fails because its subject does not exist yet is red', () => {
  for (const output of [
    "Error: Cannot find module '../src/new.js'\n# tests 1\n# pass 0\n# fail 1",
    "Error: Cannot find module '../src/new.js'\nRequire stack:\n- /p/a.js\n  code: 'MODULE_NOT_FOUND',\n  requireStack: [ '/p/a.js' ]",
    "ModuleNotFoundError: No module named 'add'\n=== 1 error in 0.05s ===",
    "ImportError: cannot import name 'add'\n=== 1 error in 0.05s ===",
    './add_test.go:5:2: undefined: Add\nFAIL\tproject [build failed]',
  ]) {
    assert.equal(judge('red', run(1, output)), null, output);
  }
});

test('a test that prints about a missing program is still red', () => {
  for (const [code, output] of NEVER_BEGAN) {
    if (code === 126 || code === 127 || /no tests ran/.test(output)) continue;
    assert.equal(judge('red', run(code, `${output}\n${FAILING}`)), null, output);
  }
});

test('a crash is red; what was ended from outside is neither', () => {
  for (const code of [134, 139]) assert.equal(judge('red', run(code)), null);
  for (const code of [130, 137, 143]) {
    assert.match(judge('red', run(code)) ?? '', /neither a failing nor a passing test/);
    assert.match(judge('green', run(code)) ?? '', /neither/);
  }
});

test('a command that did not run or did not exit by itself is neither, and the answer says why', () => {
  const ends: readonly (readonly [TddRun['end'], RegExp])[] = [
    [{ kind: 'timeout' }, /timed out/],
    [{ kind: 'signal', signal: 'SIGKILL' }, /ended by SIGKILL/],
    [{ kind: 'unavailable', why: 'no bash' }, /could not be started: no bash/],
    [{ kind: 'changed', what: 'check.sh was changed' }, /not run: check\.sh was changed since the list was created/],
    [{ kind: 'blocked', rule: 'git push' }, /a guardrail blocks it \(git push\)/],
  ];
  for (const phase of ['red', 'green', 'refactored'] as const) {
    for (const [end, why] of ends) assert.match(judge(phase, { end, output: '', tests: null }) ?? '', why);
  }
});

test('the message of a missing program counts only at the start of a line', () => {
  const atStart = NEVER_BEGAN.filter(([code, output]) => code < 126 && !/^(?:bash: line 1: cd|make:)/.test(output));
  for (const [code, output] of atStart) {
    const quoted = output
      .split('\n')
      .map((line) => `the log says: ${line}.`)
      .join('\n');
    assert.equal(judge('red', run(code, quoted.replaceAll('\u001b[31m', ''))), null, quoted);
  }
});

test('recognises the message of each shell', () => {
  for (const output of [
    'sh: 12: Syntax error: "(" unexpected',
    'dash: 3: Syntax error: end of file unexpected',
    '/bin/bash: line 12: syntax error near unexpected token',
    "/bin/bash: -c: line 12: unexpected EOF while looking for matching `''",
    'bash: 12: unexpected EOF while looking for matching',
    'zsh: 1: syntax error near unexpected token',
    "/bin/sh: 12: Can't open none.sh",
    '/usr/bin/ruby3.1: No such file or directory -- none.rb (LoadError)',
    'ERR_PNPM_NO_SCRIPT  Missing script: none',
  ]) {
    assert.match(judge('red', run(2, output)) ?? '', /exit code 2/, output);
  }
});

test('a run whose exit code contradicts it, or that a signal ended, proves nothing and says why', () => {
  assert.match(
    judge('green', run(0, 'ℹ tests 1\nℹ pass 0\nℹ fail 1')) ?? '',
    /the command exited with 0, but its runner reports 1 failed test/,
  );
  assert.match(judge('red', run(143, FAILING)) ?? '', /was ended by signal 15,/);
});

test('a scenario that fails again at the claim says that it had passed', () => {
  assert.equal(judge('claim', run(0, PASSING)), null);
  assert.match(judge('claim', run(1, FAILING)) ?? '', /it passed when it was proved and fails now \(exit code 1\)/);
});
