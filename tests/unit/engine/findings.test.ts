import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openFindings, readFindings } from '../../../src/engine/signals/findings.ts';

const LOG = `# Findings

### FINDING-001: [Security] Token in a log

- **Severity**: HIGH
- **File**: src/a.ts:12
- **Problem**: the token is printed: twice
- **Status**: FIXED_THIS_ITERATION

### FINDING-002: [Style] Long line

Severity: LOW
File: \`src/b.ts\`
Problem: it is long
Status: OPEN

## Notes

Status: OPEN
`;

test('reads findings with their fields', () => {
  assert.deepEqual(readFindings(LOG), [
    {
      id: 'FINDING-001',
      category: 'Security',
      title: 'Token in a log',
      severity: 'HIGH',
      file: 'src/a.ts:12',
      problem: 'the token is printed: twice',
      status: 'FIXED_THIS_ITERATION',
      line: 3,
    },
    {
      id: 'FINDING-002',
      category: 'Style',
      title: 'Long line',
      severity: 'LOW',
      file: 'src/b.ts',
      problem: 'it is long',
      status: 'OPEN',
      line: 10,
    },
  ]);
});

test('open findings are those that are not fixed', () => {
  assert.deepEqual(
    openFindings(LOG).map(({ id }) => id),
    ['FINDING-002'],
  );
  assert.deepEqual(openFindings(''), []);
});

test('a finding without a status is open', () => {
  assert.deepEqual(
    openFindings('### FINDING-7: x\n').map(({ id, status }) => [id, status]),
    [['FINDING-7', null]],
  );
});

for (const line of [
  'Status: OPEN',
  '- **Status:** OPEN',
  '* Status: **OPEN**',
  '- `Status`: OPEN'.replaceAll('`', ''),
  '    - Status: `OPEN`',
  '**Status**: open',
  '- __Status__: OPEN (since yesterday)',
  'Status: OPEN | FIXED_THIS_ITERATION',
]) {
  test(`${JSON.stringify(line)} is an open finding`, () => {
    assert.equal(openFindings(`### FINDING-001: x\n${line}\r\n`)[0]?.status, 'OPEN');
  });
}

test('the last status of a finding counts, and the last block of its number', () => {
  assert.deepEqual(openFindings('### FINDING-1: x\nStatus: OPEN\nStatus: FIXED_THIS_ITERATION\n'), []);
  assert.deepEqual(
    openFindings('### FINDING-1: x\nStatus: OPEN\n### FINDING-1: x\nStatus: FIXED_THIS_ITERATION\n'),
    [],
  );
  assert.equal(
    openFindings('### FINDING-1: x\nStatus: FIXED_THIS_ITERATION\n### FINDING-1: x\nStatus: OPEN\n').length,
    1,
  );
});

test('headings below a finding belong to it', () => {
  assert.deepEqual(openFindings('### FINDING-1: x\n#### Details\nStatus: FIXED_THIS_ITERATION\n'), []);
});

test('examples in fences and comments do not count', () => {
  assert.deepEqual(
    readFindings('```\n### FINDING-001: x\nStatus: OPEN\n```\n<!--\n### FINDING-002: x\nStatus: OPEN\n-->\n'),
    [],
  );
  assert.deepEqual(readFindings('### FINDING-NNN: [Category] Title\nStatus: OPEN\n'), []);
  assert.equal(readFindings('<!-- a --> \n### FINDING-002: x <!-- b -->\n')[0]?.title, 'x');
});

test('reads a line of a million blanks in linear time', () => {
  const blanks = ' '.repeat(1_000_000);
  const log = `### FINDING-1: ${blanks}x\nStatus:${blanks}x\n${blanks}Status${blanks}\n<!--${blanks}\n`.repeat(3);
  assert.deepEqual(
    readFindings(log).map(({ id }) => id),
    ['FINDING-1'],
    'an entry that is repeated counts once',
  );
});

test('a finding with an empty status is open', () => {
  const log = '### FINDING-001: [Bug] Title\n- **Status**: ---\n';
  assert.equal(readFindings(log)[0]?.status, null);
  assert.equal(openFindings(log).length, 1);
});

test('a line separator in a title or a field is an ordinary character', () => {
  const [finding] = readFindings(
    '### FINDING-001: [Bug] a\u2028b\n- **Problem**: c\u2029d\n- **Status**: OPEN\u2028\n',
  );
  assert.deepEqual([finding?.title, finding?.problem, finding?.status], ['a\u2028b', 'c\u2029d', 'OPEN']);
  assert.deepEqual(openFindings('```js\u2028\n### FINDING-001: x\n```\n'), []);
});

test('a finding about an unclosed comment hides neither its status nor the findings after it', () => {
  const log =
    '### FINDING-1: x\nProblem: `<!--` is open\nStatus: FIXED_THIS_ITERATION\n### FINDING-2: y\nStatus: OPEN\n';
  assert.deepEqual(
    openFindings(log).map(({ id }) => id),
    ['FINDING-2'],
  );
});

test('no word but FIXED closes a finding', () => {
  const log = (status: string): string => `### FINDING-1: x\n- **Status**: ${status}\n`;
  for (const status of ['REOPENED', 'IN_PROGRESS', 'WONTFIX', 'not fixed', 'UNFIXED', 'FIXEDISH', 'CLOSED', '?'])
    assert.equal(openFindings(log(status)).length, 1, status);
  for (const status of ['FIXED_THIS_ITERATION', 'FIXED', 'fixed in iteration 3', 'FIXED_ITERATION_3', '**FIXED**'])
    assert.equal(openFindings(log(status)).length, 0, status);
});

test('reads what looks like the heading of a finding where it is one', () => {
  const headings = [
    ['# FINDING-1: x', 'x'],
    ['###### FINDING-1: x', 'x'],
    ['   ###      FINDING-1: x', 'x'],
    ['### **FINDING-1**: x', 'x'],
    ['### `FINDING-1` – x', 'x'],
    ['### finding-1 [Bug] -- x.', 'x.'],
    ['### FINDING-1', ''],
    ['### FINDING-1 ####', ''],
    ['### FINDING-1:[Bug]x', 'x'],
  ] as const;
  for (const [heading, title] of headings) {
    const [finding] = readFindings(`${heading}\n`);
    assert.deepEqual([finding?.id, finding?.title], ['FINDING-1', title], heading);
  }
  for (const heading of [
    'x ### FINDING-1: x',
    '###FINDING-1: x',
    '    # FINDING-1: x',
    '### About FINDING-1: x',
    '### XFINDING-1: x',
    '### FINDING-X: x',
  ])
    assert.deepEqual(readFindings(`${heading}\n`), [], heading);
});

test('a category is the text in brackets, if any', () => {
  const categories = ['[ Bug ] x', '[] x', '[ ] x', 'x [Bug]'].map(
    (rest) => readFindings(`### FINDING-1: ${rest}\n`)[0]?.category,
  );
  assert.deepEqual(categories, ['Bug', null, null, null]);
});

test('a field is the text behind its colon, and a word that only begins like one is not a field', () => {
  const [finding] = readFindings(
    '### FINDING-1: x\nSeverity:HIGH\nFILE:src/a b.ts\n* _Problem_ : **a*b**\nStatus:OPEN\nStatuses: FIXED\nThe status: FIXED\nStatus quo: FIXED\n',
  );
  assert.deepEqual(
    [finding?.severity, finding?.file, finding?.problem, finding?.status],
    ['HIGH', 'src/a b.ts', 'a*b', 'OPEN'],
  );
});

test('a heading of the same or a higher level ends a finding and the fields below do not belong to it', () => {
  for (const heading of ['### Other', '## Notes', '# Notes'])
    assert.deepEqual(openFindings(`### FINDING-1: x\nStatus: FIXED\n${heading}\nStatus: OPEN\n`), [], heading);
  assert.equal(openFindings('### FINDING-1: x\nStatus: FIXED\n#### Later\nStatus: OPEN\n').length, 1);
});
