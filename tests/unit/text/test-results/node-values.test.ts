import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TestOutput } from '../../../../src/text/test-results/test-output.ts';

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
