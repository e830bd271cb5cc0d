import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveScope } from '../../../../src/task/git/task-scope.ts';
import { readPlan } from '../../../../src/task/plan/read-plan.ts';

const lines = (...each: string[]): string => each.join('\n');
const REAL = lines('- [ ] **Task 1: Real**', '  - Scope: `src`', '  - Acceptance: yes', '');

const told = (text: string, rule: string): number[] =>
  readPlan(text)
    .problems.filter((problem) => problem.rule === rule)
    .map(({ line }) => line);

for (const [what, ...odd] of [
  ['without a box', '- **Task 2: x**'],
  ['with nothing in its box', '- [] **Task 2: x**'],
  ['with two characters in its box', '- [ x] **Task 2: x**'],
  ['without a space behind its box', '- [ ]**Task 2: x**'],
  ['with a dash in its box', '- [-] **Task 2: x**'],
  ['with a hard space in its box', '- [\u00a0] **Task 2: x**'],
  ['with a hard space before its box', '-\u00a0[ ] **Task 2: x**'],
  ['of a word processor', '• [ ] Task 2: x'],
  ['with a symbol for its box', '- ✅ Task 2: x'],
  ['without a list mark', '[ ] **Task 2: x**'],
  ['that is a heading', '### Task 2: x'],
  ['that is a bold line', '**Task 2: x**'],
  ['in a table', '| [ ] **Task 2: x** | open |'],
  ['in a quote', '> - [ ] **Task 2: x**'],
  ['in indented code', '    - [ ] **Task 2: x**'],
  ['in raw HTML', '<details>', '- [ ] **Task 2: x**', '</details>'],
  ['behind a comment that is never closed', '<!--', '- [ ] **Task 2: x**'],
] as const) {
  test(`reports a task ${what}, which would never be worked on`, () => {
    const text = lines(REAL, '# More', '', ...odd, '');
    assert.deepEqual(
      readPlan(text).tasks.map(({ id }) => id),
      ['Task 1'],
    );
    const at = 7 + odd.findIndex((line) => line.includes('Task 2'));
    assert.deepEqual(told(text, 'unread-task'), [at]);
    assert.deepEqual(told(text.replaceAll('\n', '\r\n'), 'unread-task'), [at]);
    assert.deepEqual(told(text.replaceAll('Task 2', 'Task 1'), 'unread-task'), [], 'the plan has that one');
  });
}

for (const [head, rule] of [
  ['- [ ] (bloked) **Task 2: x**', 'unknown-mark'],
  ['- [ ] **(wip) Task 2: x**', 'unknown-mark'],
  ['- [ ] [P] Task 2: x', 'unknown-mark'],
  ['- [-] **Task 2: x**', 'unread-task'],
  ['1. [>] Task 2: x', 'unread-task'],
  ['- [ ]**Task 2: x**', 'unread-task'],
  ['- [ ] (soon) tidy up', null],
  ['- [ ] [Task 2: x](https://a.b)', null],
  ['| [ ] Task 2: x | of another plan |', null],
  ['- ✅ Task 2: x', null],
] as const) {
  test(`${rule === null ? 'warns about' : 'refuses'} a plan with ${head}, of which nothing would be done`, () => {
    const { tasks, problems } = readPlan(lines(REAL, '# More', '', head, ''));
    assert.equal(tasks.length, 1);
    const severity = rule === null ? 'warning' : 'error';
    assert.deepEqual(
      problems.map((problem) => [problem.line, problem.severity]),
      [[7, severity]],
    );
    if (rule !== null) assert.equal(problems[0]?.rule, rule);
  });
}

test('a title may follow the bold name of its task', () => {
  const titled = (head: string) => readPlan(head).tasks.map(({ id, title, status }) => [id, title, status]);
  assert.deepEqual(titled('- [ ] **Task 2** Make x'), [['Task 2', 'Make x', 'open']]);
  assert.deepEqual(titled('- [ ] __Task a__ (blocked) Make x'), [['Task a', 'Make x', 'blocked']]);
  assert.deepEqual(titled('- [ ] Task list clean up'), []);
});

test('reports a task that follows another one without a list marker and counts as its text', () => {
  assert.deepEqual(told(lines(REAL.trimEnd(), '[ ] **Task 2: x**', ''), 'unread-task'), [4]);
});

test('ignores what a person would not read as a task either', () => {
  const text = lines(
    ...['# Tasks', '', 'Task 1: see below.', '', '## Tasks 2-3: later', '', REAL, '```md', '- [ ] **Task 7: example**'],
    ...['```', '', '<!-- - [ ] **Task 8: not now** -->', '', '- [x](https://a.b) Task list', '- Task force: asks', ''],
    ...['[1] A footnote', '', '- ✅ all of 2024', '', '> **Note: 3 things**', '', '| Task 9 | open |', ''],
  );
  assert.deepEqual(readPlan(text).problems, []);
});

test('reports where an unclosed fence begins, inside a task and beside one', () => {
  const task = lines('- [ ] **Task 1: a**', '  - Scope: `a`', '  - Acceptance: b', '  ```', '  x');
  const hidden = lines(task, '  - Depends on: Task 2', '- [ ] **Task 2: b**', '  - Scope: `a`', '  - Acceptance: b');
  assert.deepEqual(told(hidden, 'open-fence'), [4]);
  assert.deepEqual(told(lines(REAL, '~~~~', '- [ ] **Task 2: x**', '~~~'), 'open-fence'), [5]);
  assert.deepEqual(told(lines(task, '  ```', '', '~~~', 'x', '~~~~~', '', '```', '```'), 'open-fence'), []);
});

test('reports a dependency in a title if the task has no line for it', () => {
  const titled = (title: string, more = ''): number[] =>
    told(lines(`- [ ] **Task 2: ${title}**`, `  - Scope: a${more}`, '  - Acceptance: b', REAL), 'stray-field');
  assert.deepEqual(titled('API (depends on Task 1)'), [1]);
  assert.deepEqual(titled('API, after task 1'), [1]);
  assert.deepEqual(titled('API (depends on Task 1)', '\n  - Depends on: Task 1'), []);
  assert.deepEqual(titled('Clean up after the task runner'), []);
});

for (const [written, scope] of [
  ['__tests__, src/__init__.py', ['__tests__', 'src/__init__.py']],
  ['*.md, **/*.test.ts, src/*', ['*.md', '**/*.test.ts', 'src/*']],
  ['**src/a.ts**, *src/b.ts*, "src/c.ts".', ['src/a.ts', 'src/b.ts', 'src/c.ts']],
  ['src/a.ts, .', ['src/a.ts', '.']],
  ['`src/a.ts` (new), and tests/api', ['src/a.ts', 'tests/api']],
  ['`src/a.ts` and `src/b.ts`', ['src/a.ts', 'src/b.ts']],
  ['**none**', []],
] as const) {
  test(`a scope written ${written} is ${scope.length === 0 ? 'none' : scope.join(' and ')}`, () => {
    const [task] = readPlan(`- [ ] **Task 1: t**\n  - Scope: ${written}\n  - Acceptance: a`).tasks;
    assert.deepEqual(task?.scope, scope);
  });
}

test('reports a scope that is not a path in the project', () => {
  for (const odd of [
    '../x',
    '~/x',
    'C:\\x',
    '[a.ts](a.ts)',
    'src/a.ts:10-20',
    'https://a.b',
    'everything',
    'all',
    'TBD',
    'My Notes.md',
    '`all`',
  ])
    assert.deepEqual(told(`- [ ] **Task 1: t**\n  - Scope: ${odd}\n  - Acceptance: a`, 'vague-scope'), [1], odd);
  for (const good of ['src/a..b', './x', '/x', 'app/[id]', '@acme/all', 'test', '`docs/My Notes.md`'])
    assert.deepEqual(told(`- [ ] **Task 1: t**\n  - Scope: ${good}\n  - Acceptance: a`, 'vague-scope'), [], good);
});

test('an absolute path into the project is a scope from there', async () => {
  const options = { env: process.env, signal: new AbortController().signal };
  const here = process.cwd();
  const scope = await resolveScope(here, [`${here}/src/a.ts`, here, '/src/b.ts', `${here}-else/c.ts`], options);
  assert.deepEqual(scope, ['src/a.ts', '.', 'src/b.ts', `${here.slice(1)}-else/c.ts`]);
});

test('reads a plan beside thousands of nested lists and quotes', () => {
  const stairs = Array.from({ length: 400 }, (_, level) => `${'  '.repeat(level)}- a`);
  for (const deep of [`${'- '.repeat(20_000)}x`, `${'> '.repeat(20_000)}x`, ...stairs, '-'.repeat(300)])
    assert.equal(readPlan(lines(REAL, deep)).tasks.length, 1);
  assert.equal(readPlan(lines(...stairs, '', REAL)).tasks.length, 1);
});

test('reports a task behind two list marks as one that is inside another item', () => {
  assert.deepEqual(told(lines(REAL, '- - [ ] **Task 2: x**'), 'nested-task'), [5]);
});

test('a box behind code in its item is no task, and is reported', () => {
  const text = lines(REAL, '- ```', '  x', '  ```', '  [ ] **Task 2: x**');
  assert.deepEqual(readPlan(text).tasks.length, 1);
  assert.deepEqual(told(text, 'unread-task'), [8]);
});

test('a line in HTML ends the task above, and what follows an empty line is read again', () => {
  const text = lines(REAL.trimEnd(), '</details>', '- [ ] **Task 2: x**', '', '- [ ] **Task 3: y**');
  const { tasks } = readPlan(text);
  assert.deepEqual(
    tasks.map(({ id, acceptance }) => [id, acceptance]),
    [
      ['Task 1', ['yes']],
      ['Task 3', []],
    ],
  );
  assert.deepEqual(told(text, 'unread-task'), [5]);
});

for (const [where, before, after] of [
  ['before the box', '- <!-- [ ] --> ', ''],
  ['at the end of the line above', '<!-- a\n[ ] --> - ', ''],
  ['behind the box', '- ', ' <!-- [ ] -->'],
] as const) {
  test(`the box of a task is found with a comment ${where}`, () => {
    const text = `\ufeff---\nmodel: x\n---\r\n${before}[ ] **Task 1: a**${after}\r\n`;
    const [task] = readPlan(text).tasks;
    assert.equal(task?.boxAt, text.indexOf('[ ] **') + 1);
    assert.equal(task?.title, 'a');
  });
}

// Squared, each would take hours. The time limit is for that, and no measure of speed.
for (const [name, line] of Object.entries({
  'quotation marks': `  - Scope: ${'"'.repeat(300_000)}`,
  stars: `  - Depends on: a${'*'.repeat(300_000)}b`,
  parentheses: `  - Depends on: a${'('.repeat(300_000)}b`,
  'blanks before a word': `  - abc${' '.repeat(300_000)}x`,
  'blanks in a title': `- [ ] **Task 2${' '.repeat(300_000)}x`,
  'blanks before a mark': `- [ ] Task 2: a${' '.repeat(300_000)}b`,
}))
  test(`reads a plan with a line of ${name}`, { timeout: 60_000 }, () => {
    assert.equal(readPlan(lines(REAL.trimEnd(), line)).tasks[0]?.id, 'Task 1');
  });
