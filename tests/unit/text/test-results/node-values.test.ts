import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestOutput } from '../../../../src/text/test-results/test-output.ts';
import { failedTestText } from '../../../../src/text/test-results/test-summary.ts';

/** What node's reporters print of one failed assertion, between its name and its figures. */
const SPEC = (reason: string, end: string): string => `✖ failing tests:

test at cart.test.js:3:1
✖ gets the first free number (1.3ms)
  AssertionError [ERR_ASSERTION]: Expected values to be strictly ${reason}
      at TestContext.<anonymous> (/project/cart.test.js:3:23)
      at Test.runInAsyncScope (node:async_hooks:206:9) {
    generatedMessage: true,
    code: 'ERR_ASSERTION',
${end}
    operator: 'strictEqual'
  }
ℹ tests 1
ℹ pass 0
ℹ fail 1
`;
const messageOf = (output: string): string | null | undefined => {
  const read = new TestOutput();
  for (const line of output.split('\n')) read.line(line);
  return read.summary()?.failures[0]?.message;
};

test('the message of a failed assertion has both values where they stand on lines of their own', () => {
  const diff = "equal:\n  + actual - expected\n  \n  + 'a-1'\n  - 'a-2'\n  ";
  assert.equal(messageOf(SPEC(diff, "    actual: 'a-1',\n    expected: 'a-2',")), "actual: 'a-1', expected: 'a-2'");
  const lists = 'deep-equal:\n  \n  [\n    1,\n    2\n  ]\n  ';
  assert.equal(
    messageOf(SPEC(lists, '    actual: [ 1, 2 ],\n    expected: [ 1 ],')),
    'actual: [ 1, 2 ], expected: [ 1 ]',
  );
});

test('the message says what was compared where the values take many lines', () => {
  const diff = 'deep-equal:\n  + actual - expected ... Lines skipped\n  \n    {\n  +   a: 1\n  ';
  assert.equal(messageOf(SPEC(diff, '    actual: {\n      a: 1\n    },\n    expected: {},')), 'expected: {}');
  const none = SPEC(diff, '    actual: {\n      a: 1\n    },\n    expected: {\n    },');
  assert.equal(messageOf(none), 'Expected values to be strictly deep-equal');
});

/** What node prints when it cannot load a file, in front of the names of its tests. */
const FATAL = (error: string): string => `node:internal/modules/esm/resolve:873
  throw new ERR_MODULE_NOT_FOUND(packageName, fileURLToPath(base), null);
        ^

${error}
    at packageResolve (node:internal/modules/esm/resolve:873:9) {
  code: 'ERR_MODULE_NOT_FOUND'
}

Node.js v20.20.2`;
const MISSING = "Error [ERR_MODULE_NOT_FOUND]: Cannot find package 'left-pad' imported from /project/test/x.test.js";
const TAP_FATAL = (error: string): string =>
  FATAL(error)
    .replace(/^(?=.)/gm, '# ')
    .replace(/\n\n/g, '\n');
const TAP_FILE = (path: string): string => `# Subtest: ${path}
not ok 1 - ${path}
  ---
  location: '${path}:1:1'
  failureType: 'testCodeFailure'
  error: 'test failed'
  code: 'ERR_TEST_FAILURE'
  ...`;
const SPEC_FILE = (path: string): string => `
test at ${path}:1:1
✖ /project/${path} (403.7ms)
  'test failed'
`;
const failuresOf = (output: string): string[] => {
  const read = new TestOutput('/project');
  for (const line of output.split('\n')) read.line(line);
  return (read.summary()?.failures ?? []).map(failedTestText);
};

test('a file that an error has ended is named by its path in the project, with that error', () => {
  const said = "test/x.test.js: Cannot find package 'left-pad' imported from /project/test/x.test.js";
  const tap = `TAP version 13\n# Error: printed\n${TAP_FATAL(MISSING)}\n${TAP_FILE('/project/test/x.test.js')}\n1..1\n# tests 1\n# fail 1\n`;
  assert.deepEqual(failuresOf(tap), [said]);
  const files = ['test/x.test.js', 'test/y.test.js'].map(SPEC_FILE).join('');
  const errors = `${FATAL(MISSING)}\n${FATAL('SyntaxError: Unexpected end of input')}\n`;
  const spec = (before: string): string => `${before}ℹ tests 2\nℹ fail 2\n\n✖ failing tests:\n${files}`;
  assert.deepEqual(failuresOf(spec(errors)), [said, 'test/y.test.js: SyntaxError: Unexpected end of input']);
  assert.deepEqual(
    failuresOf(spec(`${FATAL(MISSING)}\n`)),
    ["test/x.test.js: 'test failed'", "test/y.test.js: 'test failed'"],
    'control: whose error it is is unknown',
  );
});
