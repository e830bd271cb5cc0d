import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readScenarios } from '../../../../src/task/tdd/read-scenarios.ts';
import { RalphError } from '../../../../src/text/message.ts';

const read = (text: string, name: string): (readonly [string, string | null])[] =>
  readScenarios(text, name).map(({ description, run }) => [description, run]);

function refused(text: string, name: string, why: RegExp): void {
  assert.throws(
    () => readScenarios(text, name),
    (error) => error instanceof RalphError && error.code === 'task-invalid' && why.test(error.message),
    `${name}: ${text}`,
  );
}

test('never reads an unreadable list partly or as something else', () => {
  refused('- id: a\n  description: first\n- description: "unclosed\n', 'list.yaml', /line \d+: Missing closing/);
  refused(
    '- description: first\n  description: second\n',
    'list.yml',
    /line 2: this key is given twice\. Keep one of them\./,
  );
  refused('- first: `exit 1`\n', 'list.yaml', /line 1/);
  refused('- description: *nobody\n', 'list.yaml', /nobody/);
  refused('[{"description": "first", "command": "exit 1"}', 'list.json', /line 1: /);
  refused('[{"description": "first", "description": "second"}]', 'list.json', /line 1: this key is given twice/);
  refused('[{"description": "first"}] and more', 'standard input', /line 1/);
  refused('scenarios:\n  - description: "unclosed\n', 'standard input', /line \d+/);
  refused(`${'['.repeat(20_000)}`, 'list.yaml', /cannot be used/);
});

test('reports a list in the wrong place', () => {
  refused('{"scenarios": {"a": {"description": "first"}}}', 'list.json', /scenarios must be a list/);
  refused('description: first\ncommand: exit 1\n', 'list.yaml', /must be a list of scenarios, or have one as/);
  refused('just words\n', 'list.yaml', /must be a list/);
  refused('null', 'list.json', /must be a list/);
});

test('reports an empty list, in any form', () => {
  for (const [text, name] of [
    ['', 'list.yaml'],
    [' \n', 'list.json'],
    ['[]', 'list.json'],
    ['scenarios: []', 'list.yaml'],
    ['words\n', 'list.txt'],
    ['just words\n', 'list.md'],
  ] as const) {
    refused(text, name, /it contains no scenario/);
  }
});

test('recognises the form of a text whose name does not say it', () => {
  const markdown = '- first: `exit 1`\n- when it rains: it is wet\n';
  const expected = [
    ['first', 'exit 1'],
    ['when it rains: it is wet', null],
  ];
  assert.deepEqual(read(markdown, 'list.txt'), expected);
  assert.deepEqual(read(markdown, 'standard input'), expected);
  assert.deepEqual(read('\uFEFF\t[\n\t\t{"description": "first", "command": "exit 1"}\n\t]', 'standard input'), [
    ['first', 'exit 1'],
  ]);
  assert.deepEqual(read('- description: first\n  command: exit 1\n', 'standard input'), [['first', 'exit 1']]);
});

test('finds the command of a Markdown item on any of its lines', () => {
  const text = [
    '# What must hold',
    '1. [ ] an empty cart costs nothing, even when',
    '   a discount applies: `node --test',
    '   tests/cart.test.js`',
    '1. [ ] and ends with a stop: `exit 2`.',
    '- [ ]',
    '  below its box: `exit 3`',
    '',
    '  more about it, which is no part of the item: `exit 4`',
    '- [ ] with a fence',
    '  ```',
    '  - [ ] no item',
    '  ```',
    '- [ ] the last: ``echo `date` ``',
    '> a quote',
  ].join('\r\n');
  assert.deepEqual(read(text, 'list.md'), [
    ['an empty cart costs nothing, even when a discount applies', 'node --test tests/cart.test.js'],
    ['and ends with a stop', 'exit 2'],
    ['below its box', 'exit 3'],
    ['with a fence', null],
    ['the last', 'echo `date`'],
  ]);
});

test('names an item that would be skipped with its line: checked, without a box among boxes, nested', () => {
  refused('- [ ] one\n- [x] two\n', 'list.md', /line 2: "two" is checked/);
  refused('- [ ] one\n- two\n', 'list.md', /line 2: "two" has no box, but other items have one/);
  refused('- one\n  - a detail\n', 'list.md', /line 2: "a detail" is nested in another item/);
  refused('- [x] one\n', 'list.md', /line 1: "one" is checked/);
});
