import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isOpen, readFindings } from '../../../src/engine/findings/read-findings.ts';

const openFindings = (text: string) => readFindings(text).findings.filter(isOpen);

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

Nothing is urgent.
`;

const findingsIn = (text: string) => readFindings(text).findings;
/** Ids and statuses of a log, as `F1 OPEN`. */
const read = (text: string): string[] => findingsIn(text).map(({ id, status }) => `${id} ${status}`);
const isUnread = (text: string): boolean => readFindings(text).isUnread;

test('reads findings with their title and status', () => {
  assert.deepEqual(findingsIn(LOG), [
    { id: 'FINDING-001', title: 'Token in a log', status: 'FIXED_THIS_ITERATION', line: 3 },
    { id: 'FINDING-002', title: 'Long line', status: 'OPEN', line: 10 },
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

test('an id is the same in either case, and with a dash, an underscore or a blank in it', () => {
  const rows = ['F-1 | OPEN', 'f1 | FIXED', 'F_1 | OPEN', 'F2 | OPEN'].map((row) => `| ${row} |\n`).join('');
  assert.deepEqual(
    readFindings(`| ID | Status |\n|---|---|\n${rows}`).findings.map(({ id, status }) => `${id} ${status}`),
    ['F_1 OPEN', 'F2 OPEN'],
  );
});

test('headings below a finding belong to it', () => {
  assert.deepEqual(openFindings('### FINDING-1: x\n#### Details\nStatus: FIXED_THIS_ITERATION\n'), []);
});

test('examples in fences and comments do not count', () => {
  assert.deepEqual(
    findingsIn('```\n### FINDING-001: x\nStatus: OPEN\n```\n<!--\n### FINDING-002: x\nStatus: OPEN\n-->\n'),
    [],
  );
  assert.deepEqual(findingsIn('### FINDING-NNN: [Category] Title\nStatus: OPEN\n'), []);
  assert.equal(findingsIn('<!-- a --> \n### FINDING-002: x <!-- b -->\n')[0]?.title, 'x');
});

test('reads a line of a million blanks in linear time', () => {
  const blanks = ' '.repeat(1_000_000);
  const log = `### FINDING-1: ${blanks}x\nStatus:${blanks}x\n${blanks}Status${blanks}\n<!--${blanks}\n`.repeat(3);
  assert.deepEqual(
    findingsIn(log).map(({ id }) => id),
    ['FINDING-1'],
    'an entry that is repeated counts once',
  );
});

test('a finding with an empty status is open', () => {
  const log = '### FINDING-001: [Bug] Title\n- **Status**: ---\n';
  assert.equal(findingsIn(log)[0]?.status, null);
  assert.equal(openFindings(log).length, 1);
});

test('a line separator in a title or a field is an ordinary character', () => {
  const [finding] = findingsIn('### FINDING-001: [Bug] a\u2028b\n- **Status**: OPEN\u2028\n');
  assert.deepEqual([finding?.title, finding?.status], ['a\u2028b', 'OPEN']);
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
    const [finding] = findingsIn(`${heading}\n`);
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
    assert.deepEqual(findingsIn(`${heading}\n`), [], heading);
});

test('a category in brackets is no part of the title', () => {
  const titles = ['[ Bug ] x', '[] x', '[ ] x', 'x [Bug]'].map(
    (rest) => findingsIn(`### FINDING-1: ${rest}\n`)[0]?.title,
  );
  assert.deepEqual(titles, ['x', 'x', 'x', 'x [Bug]']);
});

test('a field is the text behind its colon, and a word that only begins like one is not a field', () => {
  const [finding] = findingsIn(
    '### FINDING-1: x\nStatus:OPEN\nStatuses: FIXED\nThe status: FIXED\nStatus quo: FIXED\n',
  );
  assert.equal(finding?.status, 'OPEN');
});

test('a heading of the same or a higher level ends a finding, and one with its own status is a finding', () => {
  for (const heading of ['### Other', '## Notes', '# Notes'])
    assert.deepEqual(
      read(`### FINDING-1: x\nStatus: FIXED\n${heading}\nStatus: OPEN\n`),
      ['FINDING-1 FIXED', `${heading.replace(/#+ /, '')} OPEN`],
      heading,
    );
  assert.deepEqual(read('### FINDING-1: x\nStatus: FIXED\n#### Later\nStatus: OPEN\n'), ['FINDING-1 OPEN']);
  assert.deepEqual(read('## SQL injection in login\n\nSeverity: high\n\nStatus: OPEN\n## Two\nStatus: FIXED\n'), [
    ...['SQL injection in login OPEN', 'Two FIXED'],
  ]);
});

for (const [form, log, entries] of [
  [
    'a short id in a heading',
    '## F1: Token in a log\n\n- **Status:** OPEN\n\n## F2 – Long line\n- Status: FIXED',
    ['F1 OPEN', 'F2 FIXED'],
  ],
  [
    'other words for an id',
    '## Finding 3: a\nStatus: OPEN\n## BUG-12: b\nStatus: FIXED\n## #4 c\nStatus: open',
    ['FINDING-3 OPEN', 'BUG-12 FIXED', '#4 OPEN'],
  ],
  ['a bold field', '### F1: a\n**Status: OPEN**\n### F2: b\n- **Status**: **FIXED**', ['F1 OPEN', 'F2 FIXED']],
  [
    'a field behind others on its line',
    '### F1: a\nSeverity: HIGH | Status: OPEN\n### F2: b\n(severity: low, status: FIXED)',
    ['F1 OPEN', 'F2 FIXED'],
  ],
  [
    'the status in the heading',
    '## F1: a [OPEN]\n## F2 (FIXED): b\n## F3: c — FIXED_THIS_ITERATION\n## SEC-1: d [open]',
    ['F1 OPEN', 'F2 FIXED', 'F3 FIXED_THIS_ITERATION', 'SEC-1: d OPEN'],
  ],
  ['the status struck through', '## F1: a\nStatus: ~~OPEN~~ FIXED\n## F2: b\nStatus: ✅', ['F1 FIXED', 'F2 FIXED']],
  ['an underlined heading', 'F1: a\n-----\n\nStatus: OPEN', ['F1 OPEN']],
  [
    'a table',
    '| ID | Severity | Title | Status |\n|---|:-:|---|---|\n| F1 | high | Token | **OPEN** |\n| F2 | low | Line | ✅ FIXED |\n| F3 | low | a \\| b |  |',
    ['F1 OPEN', 'F2 FIXED', 'F3 null'],
  ],
  [
    'a table without outer bars',
    'Finding | State\n--- | ---\nToken in a log | Open\nLong line | Fixed',
    ['Token in a log OPEN', 'Long line FIXED'],
  ],
  ['a list with boxes', '- [ ] F1: Token\n- [x] F2: Line\n- [~] **F3**: odd', ['F1 OPEN', 'F2 FIXED', 'F3 OPEN']],
  [
    'a list with statuses',
    '- F1 (OPEN): Token\n- **F2** [FIXED] Line\n- F3: odd — Status: OPEN',
    ['F1 OPEN', 'F2 FIXED', 'F3 OPEN'],
  ],
  [
    'items with fields below them',
    '- SQL injection in login\n  - Severity: high\n  - Status: OPEN\n- Long line\n  - Status: FIXED',
    ['SQL injection in login OPEN', 'Long line FIXED'],
  ],
  [
    'details for the rows of a table',
    '| ID | Status |\n|--|--|\n| F1 | OPEN |\n\n## F1: Token\nStatus: FIXED',
    ['F1 FIXED'],
  ],
  [
    'notes on a finding in a list',
    '## F1: Token\nStatus: FIXED\n\n## Notes\n\n- F1: fixed by a test\n- F-1 again',
    ['F1 FIXED'],
  ],
] as const) {
  test(`reads ${form}`, () => {
    assert.deepEqual(read(log), entries);
    assert.equal(isUnread(log), false);
  });
}

test('knows the title of a finding without its id and its status', () => {
  const titles = [
    ...[
      '## F1: Token in a log [OPEN]',
      '## [F1] Token in a log',
      '- [ ] **F1**: Token in a log',
      '## F1 (FIXED) – Token in a log',
    ],
    '| ID | Title | Status |\n|--|--|--|\n| F1 | Token in a log | OPEN |',
  ].map((log) => findingsIn(log)[0]?.title);
  assert.deepEqual(titles, Array(5).fill('Token in a log'));
});

for (const log of [
  'The token is printed in src/a.ts.',
  '# Findings\n\n- Token in a log\n- Long line',
  '# Findings\n\n## Token in a log\n\nIt is printed.',
  '## SQL injection',
  'F1 token in a log',
  '| ID | Title |\n|--|--|\n| F1 | Token |',
  '1. Token in a log, not fixed yet',
])
  test(`a log with text and no entry is unread: ${JSON.stringify(log.slice(0, 40))}`, () => {
    assert.deepEqual([read(log), isUnread(log)], [[], true]);
  });

for (const log of [
  '',
  '# Findings\n',
  '# Findings\n\n## Open\n\n## Fixed\n',
  '# Findings\n\nNo findings.\n',
  '## Checked files\n\n- src/a.ts\n\nThere are no open findings.\n',
  'None.',
  '- **None**',
  '0 findings remain',
  'No security issues were found in src.',
  'All findings are fixed.',
  '| ID | Status |\n|--|--|\n',
  '```\n### FINDING-001: x\nStatus: OPEN\n```\n',
  '<!-- format: ### FINDING-001 -->\n',
])
  test(`a log that is empty, or says so, has no finding: ${JSON.stringify(log.slice(0, 40))}`, () => {
    assert.deepEqual([read(log), isUnread(log)], [[], false]);
  });

test('entries of headings and of lists stand in the order of the log', () => {
  assert.deepEqual(read('### F1: One\nStatus: OPEN\n\n## Others\n\n- [x] F2: Two\n\n### F3: Three\nStatus: FIXED\n'), [
    'F1 OPEN',
    'F2 FIXED',
    'F3 FIXED',
  ]);
});

test('a table leaves out rows without an id or of a template; a row with an id and a status needs no rule', () => {
  const head = '| ID | Finding | Status |\n| --- | --- | --- |\n';
  assert.deepEqual(
    read(`${head}| F1 | One | OPEN |\n|  | None | OPEN |\n| FINDING-NNN | Title | OPEN |\n| F2 | --- |\n`),
    ['F1 OPEN', 'F2 null'],
  );
  assert.deepEqual(read('| ID | Finding | Status |\n| --- | x | - |\n| F1 | One | OPEN |\n'), ['F1 OPEN']);
  assert.deepEqual(read('| --- | --- |\n| F1 | OPEN |\n'), ['F1 OPEN']);
  assert.deepEqual(read('| F1 | FIXED (mostly) |\n'), ['F1 FIXED?']);
  assert.deepEqual(read('| a | b |\n|---|---|\n| One | OPEN |\n'), [], 'control: no id');
  assert.deepEqual(findingsIn('| Finding | Status |\n| --- | :-: |\n| F1: Leak | FIXED |\n| Slow page | OPEN |\n'), [
    { id: 'F1', title: 'Leak', status: 'FIXED', line: 3 },
    { id: 'Slow page', title: '', status: 'OPEN', line: 4 },
  ]);
  assert.equal(isUnread('| Finding | Status |\n|---|---|\n'), false);
  assert.equal(isUnread('| a | b |\n|---|---|\n| c | d |\n'), true, 'control: a table about something else');
});

test('a status belongs to the item that holds it, and to none after a paragraph', () => {
  assert.deepEqual(read('- Leak in a\n  - Status: OPEN\n- Leak in b\n  - Status: FIXED\n'), [
    'Leak in a OPEN',
    'Leak in b FIXED',
  ]);
  assert.deepEqual(read('- Leak in a\n\nA paragraph.\n\nStatus: OPEN\n'), []);
  assert.deepEqual(read('- Leak in a\n\n## Next\n\nStatus: OPEN\n'), ['Next OPEN']);
});

test('an empty box holds a finding open whatever its line says, and a box within a line is none', () => {
  assert.deepEqual(read('- [ ] F1: One, FIXED\n- [x] F2: Two\n- [x] F3: Three OPEN\n'), [
    'F1 OPEN',
    'F2 FIXED',
    'F3 OPEN',
  ]);
  assert.deepEqual(read('- F1: see [x] mark\n'), []);
});

test('a heading below an entry belongs to it, and a title or a rule says nothing', () => {
  assert.deepEqual(findingsIn('## Leak (OPEN)\n\n### Steps\n\nStatus: FIXED\n\n## Other\n\nStatus: OPEN\n'), [
    { id: 'Leak', title: '', status: 'FIXED', line: 1 },
    { id: 'Other', title: '', status: 'OPEN', line: 7 },
  ]);
  assert.deepEqual(['# Anything else\n', '## Anything else\n', '---\n'].map(isUnread), [false, true, false]);
});

const TAKEN_BACK: readonly string[] = [
  ...[
    'FIXED? no, still OPEN',
    'FIXED?',
    'not fixed',
    'Fixed → reopened',
    'FIXED -> OPEN',
    'FIXED, reopened in iteration 3',
  ],
  ...[
    'FIXED but OPEN again',
    'Fixed in part',
    'FIXED_PARTIALLY',
    'FIXED (partially)',
    '[ ] FIXED',
    '❌ FIXED',
    'FIXED: no',
  ],
  ...[
    'fixed = false',
    'FIXED, OPEN',
    'FIXED | OPEN',
    'FIXED, regressed',
    'FIXED_REVERTED',
    'FIXED; still open on Windows',
  ],
  ...[
    '~~FIXED~~ OPEN',
    '<del>FIXED</del> OPEN',
    'open (was: fixed)',
    'to be FIXED',
    '✅ OPEN',
    "isn't fixed",
    'never FIXED',
  ],
  // Doubtful: what only may take the status back holds as well.
  ...[
    'FIXED (was: open)',
    'FIXED (not on Windows)',
    'FIXED on Linux, but slow',
    'FIXED for most, only one left',
    'FIXED? yes',
    'FIXED_PARTIAL',
    'FIXED (partial)',
    'FIXED_REVERT',
    'FIXED soon',
    'FIXED pending review',
    ...['FIXED: postponed', 'FIXED (in progress)', 'FIXED, untested'],
  ],
];
const CLOSED: readonly string[] = [
  ...[
    '~~OPEN~~ FIXED',
    '<s>OPEN</s> FIXED',
    '✅',
    '✅ FIXED',
    '[x] FIXED',
    '<b>FIXED</b>',
    'FIXED.',
    'fixed in iteration 3',
  ],
  ...[
    'FIXED (commit 1a2b3c)',
    'FIXED by quoting the name',
    'FIXED - added a regression test',
    'FIXED. No regressions.',
  ],
];

test('a status that its own line takes back is open', () => {
  for (const [statuses, open] of [
    [TAKEN_BACK, 1],
    [CLOSED, 0],
  ] as const)
    for (const status of statuses) {
      const table = `| Status | ID |\n|---|---|\n| ${status.replace('|', '/')} | F1 |\n`;
      for (const text of [`### F1: Title\n\n- **Status:** ${status}\n`, `- F1: Title\n  - Status: ${status}\n`, table])
        assert.equal(openFindings(text).length, open, text);
    }
});

test('a title or an item is open whose words or marks take back that it is fixed', () => {
  for (const line of [
    ...['### F1: Title (FIXED, reopened)', '### F1: not FIXED', '### ❌ F1: Title', '### F1: Title FIXED?'],
    ...[
      '### F1: FIXED header height wrong',
      '## FIXED price is shown twice',
      '- F1: FIXED header',
      '- [x] F1: FIXED? no',
    ],
    ...[
      '### F1: Title — FIXED, not on Windows',
      '### F1: Title (FIXED on Linux only)',
      '## F1 (FIXED): a — OPEN again',
    ],
    ...[
      '- F1: Title FIXED? no, still OPEN',
      '- [x] F1: Title - not fixed',
      '- [x] F1: Title, still open',
      '- [x] F1 Title (reopened)',
      '- [x] ❌ F1 Title',
    ],
    ...[
      '- ❌ F1: Title',
      '- :x: F1 Title',
      '- F1 Title ❌',
      '- OPEN: Title',
      '- [OPEN] Title',
      'F1: OPEN',
      '<li>F1: Title OPEN</li>',
    ],
    ...['- [x] One\n  1. [ ] F1: nested', '### F1: One\n\nStatus: FIXED\n\nUpdate: reopened', '<p>F1: OPEN</p>'],
    ...['### F2: One [FIXED]\n\nF1: OPEN', '<h3>F1: Title</h3>\n<p>Status: OPEN</p>', '### F2: a — FIXED\n\n- OPEN: b'],
  ])
    assert.equal(openFindings(`# Log\n\n${line}\n`).length, 1, line);
  for (const line of [
    '### ✅ F1: Title',
    '- ✓ F1 Title',
    '### F1: Title (FIXED in iteration 3)',
    '### F1: Title — FIXED: quoted the name',
    '- F1: FIXED',
    '- F1: FIXED by a lock',
    '- [x] F1: open redirect',
    '- F1 Title ✅',
    '- [FIXED] Title',
  ])
    assert.deepEqual(
      findingsIn(`# Log\n\n${line}\n`).map(({ status }) => status),
      ['FIXED'],
      line,
    );
});

test('each name of a mark is read, and a line with neither a mark nor a status has none', () => {
  for (const mark of ['✔', '☑', ':white_check_mark:', ':heavy_check_mark:', ':ballot_box_with_check:'])
    assert.deepEqual(read(`- ${mark} F1: title\n- F2: title ${mark}\n`), ['F1 FIXED', 'F2 FIXED'], mark);
  for (const mark of ['✗', '✘', '✖', '☐', '⬜', ':x:'])
    assert.deepEqual(read(`- [x] F1: title ${mark}\n`), ['F1 OPEN'], mark);
  assert.deepEqual(read('- 🔴 F1: title: b\n- ⚠ [x] issue-2 title\n- RISK #3: title\n'), []);
});

test('tables with the status in any place or as an answer are read, and one in HTML is not', () => {
  const html = '<table>\n<tr><th>ID</th><th>Status</th></tr>\n<tr><td>F2</td><td>OPEN</td></tr>\n</table>\n';
  assert.equal(isUnread(`### F1: a\nStatus: FIXED\n\n${html}`), true);
  assert.equal(isUnread(`### F1: a\nStatus: FIXED\n\n\`\`\`\n${html}\`\`\`\n`), false, 'control: an example');
  for (const about of ['### F2: `<table>` lacks a caption\n', 'The <table> has no header.\n'])
    assert.equal(isUnread(`### F1: a\n${about}Status: FIXED\n`), false, 'a finding about a table');
  assert.deepEqual(read('| Status | Title |\n|---|---|\n| OPEN | Leak |'), ['Leak OPEN']);
  assert.deepEqual(
    read('| ID | Fixed? |\n|---|---|\n| F1 | no |\n| F2 | yes |\n| F3 | |\n| F4 | ✅ |\n| F5 | yes (not on Windows) |'),
    ['F1 OPEN', 'F2 FIXED', 'F3 OPEN', 'F4 FIXED', 'F5 FIXED?'],
  );
  assert.deepEqual(read('### F1: a\n\n| Field | Value |\n|---|---|\n| Status | FIXED |'), ['F1 FIXED']);
});

test('a closed status that names a regression test stays closed, and one that names a regression does not', () => {
  for (const said of [
    'added a regression test',
    'with a regression test in test/a.test.ts',
    '(regression tests added)',
    'the parser reads blanks now',
  ])
    assert.deepEqual(openFindings(`### F1: a\n\nStatus: FIXED - ${said}\n`), [], said);
  for (const said of [
    'a regression',
    'reverted',
    'reverted the fix',
    'false',
    'open',
    'open on Windows',
    'opened again',
  ])
    assert.equal(openFindings(`### F1: a\n\nStatus: FIXED - ${said}\n`).length, 1, `control: ${said}`);
});
