import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkTaskFile } from '../../../src/task/check/check-task-file.ts';
import { addValidation } from '../../../src/task/draft/add-validation.ts';
import { RalphError } from '../../../src/text/message.ts';

const CASES: readonly (readonly [string, string, string])[] = [
  ['no frontmatter', '# Task\n', '---\nvalidation:\n  - npm test\n  - "a: b # c"\n---\n# Task\n'],
  [
    'a byte-order mark and CRLF',
    '\ufeff# Task\r\n',
    '\ufeff---\r\nvalidation:\r\n  - npm test\r\n  - "a: b # c"\r\n---\r\n# Task\r\n',
  ],
  ['empty frontmatter', '---\n---\nbody', '---\nvalidation:\n  - npm test\n  - "a: b # c"\n---\nbody'],
  ['comments alone', '---\n# later\n---\n', '---\n# later\nvalidation:\n  - npm test\n  - "a: b # c"\n---\n'],
  [
    'other keys, comments and odd spacing',
    '<!-- x -->\n---\nmodel:   "opus"   # why\n\nidle: {delay: 5m}\n# end\n---\nbody\n---\nmore\n',
    '<!-- x -->\n---\nmodel:   "opus"   # why\n\nidle: {delay: 5m}\n# end\nvalidation:\n  - npm test\n  - "a: b # c"\n---\nbody\n---\nmore\n',
  ],
  ['CRLF', '---\r\nmodel: x\r\n---\r\n', '---\r\nmodel: x\r\nvalidation:\r\n  - npm test\r\n  - "a: b # c"\r\n---\r\n'],
  [
    'keys that are indented',
    '---\n  model: x\n---\n',
    '---\n  model: x\n  validation:\n    - npm test\n    - "a: b # c"\n---\n',
  ],
  [
    'a block text at the end',
    '---\nx: |\n  a\n\n---\n',
    '---\nx: |\n  a\n\nvalidation:\n  - npm test\n  - "a: b # c"\n---\n',
  ],
  [
    'an empty value',
    '---\nvalidation:\nmodel: x\n---\n',
    '---\nvalidation:\n  - npm test\n  - "a: b # c"\nmodel: x\n---\n',
  ],
  [
    'an empty list',
    '---\nvalidation: []\nmodel: x\n---\n',
    '---\nvalidation:\n  - npm test\n  - "a: b # c"\nmodel: x\n---\n',
  ],
  [
    'a list in brackets',
    '---\nvalidation: [make]\n---\n',
    '---\nvalidation:\n  - make\n  - npm test\n  - "a: b # c"\n---\n',
  ],
  [
    'a block list',
    '---\nvalidation:\n- make\nmodel: x # m\n---\n',
    '---\nvalidation:\n  - make\n  - npm test\n  - "a: b # c"\nmodel: x # m\n---\n',
  ],
  [
    'a block list at the end',
    '---\nvalidation:\n    - run: make\n      timeout: 9\n---\n',
    '---\nvalidation:\n  - run: make\n    timeout: 9\n  - npm test\n  - "a: b # c"\n---\n',
  ],
  [
    'one of the commands',
    '---\nvalidation:\n  - run: npm test\n---\n',
    '---\nvalidation:\n  - run: npm test\n  - "a: b # c"\n---\n',
  ],
  [
    'all of the commands',
    '---\nvalidation: ["a: b # c", npm test]\n---\n',
    '---\nvalidation: ["a: b # c", npm test]\n---\n',
  ],
  ['no newline at its end', '---\nmodel: x\n---', '---\nmodel: x\nvalidation:\n  - npm test\n  - "a: b # c"\n---'],
];

for (const [what, before, after] of CASES) {
  test(`adds commands to a file with ${what} and keeps the rest byte for byte`, () => {
    assert.equal(addValidation(before, ['npm test', 'a: b # c']), after);
    const { frontmatter, problems } = checkTaskFile('plan.md', after, 'plan');
    assert.deepEqual(
      problems.filter(({ severity }) => severity === 'error'),
      [],
    );
    assert.ok((frontmatter?.validation?.length ?? 0) >= 2);
  });
}

for (const command of [
  'x',
  'true',
  '42',
  'null',
  '- x',
  '{a}',
  "it's",
  'say "hi"',
  'a\\nb',
  'a \\\n  b',
  '&x',
  '*x',
  '!x',
  '%x',
  '@x',
  '`x`',
  '# x',
  'a: b',
  'tab\there',
  'ünïcode ✓ 🙂',
  ' x ',
  '---',
  'a,b]',
  'x'.repeat(500),
]) {
  test(`${JSON.stringify(command.slice(0, 20))} is the same command when it is read back`, () => {
    for (const text of ['', '---\nvalidation: [first]\n---\n', '---\nvalidation:\n  - first\n---\n']) {
      const { frontmatter } = checkTaskFile('plan.md', addValidation(text, [command]), 'plan');
      assert.equal(frontmatter?.validation?.at(-1), command);
    }
  });
}

test('adding nothing changes nothing', () => {
  for (const text of ['', '# Task\n', '---\nmodel: x\n---\n']) assert.equal(addValidation(text, []), text);
});

for (const text of [
  '---\nmodel: x\n',
  '---\n{model: x}\n---\n',
  '---\n- x\n---\n',
  '---\na: @\n---\n',
  '---\nvalidation: npm test\n---\n',
  '---\nvalidation:\n- make  # m\n---\n',
  '---\na: &a [x]\nvalidation: *a\n---\n',
  '---\nx: 1\n...\n---\n',
]) {
  test(`refuses a form that cannot be added to: ${JSON.stringify(text)}`, () => {
    assert.throws(
      () => addValidation(text, ['npm test']),
      (error) => error instanceof RalphError && error.code === 'task-invalid',
    );
  });
}
