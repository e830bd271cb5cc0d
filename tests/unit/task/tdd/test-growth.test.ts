import assert from 'node:assert/strict';
import { test } from 'node:test';
import { headsOf, isGrown, testFiles } from '../../../../src/task/tdd/test-files.ts';
import { folderWith } from '../../../support/folder.ts';

const HEAD = "const { test } = require('node:test');\nconst { add } = require('../src/add.js');\n\n";
const ONE = "test('adds', () => {\n  const sum = add(1, 2);\n  assert.equal(sum, 3);\n});\n";
const MORE = "\ntest('adds more', () => {\n  assert.equal(add(2, 2), 4);\n});\n";
const GROUPED = `${HEAD}describe('add', () => {\n${ONE}});\n`;
const PYTHON = 'import unittest\nfrom src.add import add\n\n\ndef test_adds():\n    assert add(1, 2) == 3\n';
const RUBY =
  "require_relative '../src/add'\n\ndescribe 'add' do\n  it 'adds' do\n    expect(add(1, 2)).to eq 3\n  end\nend\n";

type Change = readonly [what: string, before: string, after: string];

const GROWN: readonly Change[] = [
  ['a test at the end', HEAD + ONE, HEAD + ONE + MORE],
  ['a test in the last block', GROUPED, GROUPED.replace(ONE, ONE + MORE)],
  ['a test behind the last block', GROUPED, GROUPED + MORE],
  ['a name that it imports', HEAD + ONE, HEAD.replace('{ add }', '{ add, sub }') + ONE + MORE],
  ['an import', HEAD + ONE, `import fs from 'node:fs';\n${HEAD}${ONE}${MORE}`],
  ['empty lines and other line ends', HEAD + ONE, (HEAD + ONE).replaceAll('\n', '\r\n\r\n')],
  ['a function in Python', PYTHON, `${PYTHON}\n\ndef test_adds_more():\n    assert add(2, 2) == 4\n`],
  [
    'an example in Ruby',
    RUBY,
    RUBY.replace(/end\n$/, "\n  it 'adds more' do\n    expect(add(2, 2)).to eq 4\n  end\nend\n"),
  ],
];

const WEAKENED: readonly Change[] = [
  ['another comparison', HEAD + ONE, HEAD + ONE.replace('sum, 3', 'sum, sum') + MORE],
  ['a comparison that is gone', HEAD + ONE, HEAD + ONE.replace('  assert.equal(sum, 3);\n', '') + MORE],
  ['a test that is gone', HEAD + ONE, HEAD + MORE],
  ['a skip', HEAD + ONE, HEAD + ONE.replace('test(', 'test.skip(') + MORE],
  ['a skip behind the test', HEAD + ONE, `${HEAD}${ONE.replace('});', '}, { skip: true });')}${MORE}`],
  [
    'a skip behind a line in the test',
    HEAD + ONE,
    `${HEAD}${ONE.replace('});', '  void 0;\n}, { skip: true });')}${MORE}`,
  ],
  ['a return', HEAD + ONE, HEAD + ONE.replace('  assert', '  return;\n  assert') + MORE],
  ['a comment around it', HEAD + ONE, `${HEAD}/*\n${ONE}*/\n${MORE}`],
  ['other code', HEAD + ONE, HEAD.replace('../src/add.js', './fake.js') + ONE + MORE],
  [
    'other code, and an import of the right one',
    HEAD + ONE,
    `${HEAD.replace('{ add }', '{ sub }')}const add = () => 3;\n${ONE}`,
  ],
  ['a file without lines', HEAD + ONE, ''],
  ['a function that replaces the former one in Python', PYTHON, `${PYTHON}\ndef test_adds():\n    pass\n`],
  ['a skip in Python', PYTHON, PYTHON.replace('def', '@unittest.skip\ndef')],
  ['a pending example in Ruby', RUBY, RUBY.replace("it 'adds' do", "xit 'adds' do")],
];

for (const [expected, cases] of [
  [true, GROWN],
  [false, WEAKENED],
] as const)
  for (const [what, before, after] of cases)
    test(`${what} ${expected ? 'is growth of a test file' : 'may weaken a test file'}`, (t) => {
      const path = 'tests/add.test.js';
      const former = folderWith(t, { [path]: before });
      const heads = headsOf(former, testFiles(former));
      const now = folderWith(t, { [path]: after });
      assert.equal(isGrown(now, path, testFiles(now)[path], heads[path]), expected);
      assert.equal(isGrown(former, path, testFiles(former)[path], heads[path]), true, 'control: the same');
    });

test('a file whose content differs from its hash has no head, and did not grow', (t) => {
  const path = 'tests/add.test.js';
  const folder = folderWith(t, { [path]: HEAD + ONE });
  const [hash = ''] = Object.values(testFiles(folder));
  const heads = headsOf(folder, { [path]: hash });
  assert.deepEqual(headsOf(folder, { [path]: `${hash}0` }), {});
  assert.equal(isGrown(folder, path, `${hash}0`, heads[path]), false);
  assert.equal(isGrown(folder, path, undefined, heads[path]), false);
  assert.equal(isGrown(folder, path, hash, undefined), false);
});
