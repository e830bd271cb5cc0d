import assert from 'node:assert/strict';
import { test } from 'node:test';
import { explainRun, taskTable } from '../../../src/cli/show/run-text.ts';
import { OPEN_TASK, tasksOfPlan, wholeRun } from '../../../src/drive/status/plan-run.ts';
import type { Run, RunTask } from '../../../src/engine/schema/batch.ts';
import { cells, wrapText } from '../../../src/term/write-text.ts';

const DONE: RunTask = {
  ...OPEN_TASK,
  status: 'complete',
  done: true,
  iterations: 3,
  costUsd: 1.5,
  tokens: 12_345,
  durationMs: 134_000,
};

const WHY = 'Stopped by the circuit breaker (no progress): five iterations in a row changed nothing in the project.';
const CONFLICT = 'tests: ralph/tests conflicts with the current branch in a.ts.';
const TASKS: readonly RunTask[] = [
  { ...DONE, id: 'docs', commit: 'abc1234', proof: 'red-to-green', files: 12 },
  { ...DONE, id: 'types', status: 'circuit-open', done: false, iterations: 12, costUsd: 20.25, why: WHY },
  { ...DONE, id: 'tests', done: false, why: CONFLICT },
  { ...OPEN_TASK, id: 'later', needs: ['tests'] },
];

function runWith(tasks: readonly RunTask[]): Run {
  return wholeRun({
    id: 'run-1',
    title: 'docs and more',
    plan: null,
    atOnce: 2,
    status: 'incomplete',
    live: false,
    startedAt: '2026-02-28T10:00:00Z',
    endedAt: '2026-02-28T10:03:00Z',
    durationMs: 180_000,
    why: '',
    next: '',
    tasks: [...tasks],
  });
}

/** As a terminal of this width shows it. */
function shown(tasks: readonly RunTask[], columns: number): string[] {
  return wrapText(taskTable(runWith(tasks), columns).join('\n'), columns).split('\n');
}

test('output of a delivery that failed is counted, and no log of the loop is named, which has none of it', () => {
  const why = 'a: the merge was undone, because checks fail on the result: a: npm test: exit code 1.\n1\n2\n3\n4';
  const task = { ...DONE, id: 'a', done: false, why, loop: { name: 'a', loopId: 'x' } };
  const text = shown([task], 200).join('\n');
  assert.match(text, /exit code 1\.\n +\[1 more line\]\n +2\n/);
  assert.match(
    shown([{ ...task, status: 'blocked' }], 200).join('\n'),
    /\[Show 1 more line: .*logs --loop a/,
    'control',
  );
});

test('a task that a check refused names the failed test and the command that shows the output', () => {
  const why = 'npm test: 1 of 2 tests fails: adds (a.test.js:3): 1 !== 2\nraw\nmore\n1\n2\n3';
  const task = {
    ...DONE,
    id: 'Task 5',
    status: 'blocked',
    done: false,
    why,
    loop: { name: 'PLAN-Task-5', loopId: 'x' },
  };
  const told = [
    'npm test: 1 of 2 tests fails: adds (a.test.js:3): 1 !== 2',
    '  [Show 2 more lines: ralph-loop logs --loop PLAN-Task-5.]',
    '  1',
    '  2',
    '  3',
  ];
  assert.deepEqual(
    taskTable(runWith([task]), 120)
      .slice(1, -1)[0]
      ?.split('\n')
      .slice(1),
    told.map((line) => `    ${line}`),
  );
  const explained = explainRun(runWith([task]), '2026-02-28T10:05:00Z', (_, text) => text);
  assert.match(explained, /Task 5 {2}blocked {2}npm test: 1 of 2 tests fails: adds [^\n]*\n +\[Show 2 more lines/);
  assert.doesNotMatch(explained, /raw/);
});

test('the table has a row for each task, why it is not done below it, and the sums', () => {
  assert.deepEqual(shown(tasksOfPlan([], TASKS), 120), [
    'task   state           needs  proof         files  iterations  tokens    cost    time  commit',
    'docs   complete               red-to-green     12           3   12.3k   $1.50  2m 14s  abc1234',
    'types  repeats itself                                      12   12.3k  $20.25  2m 14s',
    `    ${WHY}`,
    'tests  complete                                             3   12.3k   $1.50  2m 14s',
    `    ${CONFLICT}`,
    'later  not started     tests',
    '    waits for tests',
    'total  1 of 4 done                                         18   37.0k  $23.25      3m',
  ]);
});

test('a narrow table keeps title, state, proof, cost and commit of each task', () => {
  const titled = TASKS.map((task) => ({ ...task, title: 'A title of a task that is quite long for eighty columns' }));
  const [head, row] = shown(titled, 80);
  assert.deepEqual(
    [head, row],
    [
      'task   title                    state           proof           cost  commit',
      'docs   A title of a task that…  complete        red-to-green   $1.50  abc1234',
    ],
  );
});

test('what is unknown for every task takes no room', () => {
  const [head, row] = shown([{ ...OPEN_TASK, id: 'a', status: 'complete', done: true, iterations: 3 }], 80);
  assert.deepEqual([head, row], ['task   state        iterations', 'a      complete              3']);
});

for (const columns of [80, 120]) {
  test(`at ${columns} columns no row is wider, and no word is broken`, () => {
    const long = 'a-name-of-fifty-characters-that-hardly-fits-beside';
    for (const tasks of [TASKS, [...TASKS, { ...DONE, id: long, commit: 'abc1234' }]]) {
      const rows = shown(tasks, columns);
      for (const row of rows) assert.ok(cells(row) <= columns, row);
      const words = taskTable(runWith(tasks), columns).join(' ').split(/\s+/);
      assert.deepEqual(rows.join(' ').split(/\s+/), words, 'every word stands whole in some row');
      assert.match(
        rows.find((row) => row.includes('repeats itself')) ?? '',
        /repeats itself.* \$20\.25/,
        'figures share a row',
      );
    }
  });
}

test('an ended run whose work is left in worktrees says how to commit and merge it, and no other run does', () => {
  const end = (tasks: readonly RunTask[], live = false): string =>
    explainRun({ ...runWith(tasks), live }, '2026-02-28T11:00:00Z', (_, text) => text);
  const left = { ...DONE, id: 'a', branch: 'ralph/a' };
  assert.match(
    end([left]),
    /\n {2}git -C \.ralph\/worktrees\/NAME add -A && .* commit\n.*\n {2}git merge ralph\/NAME\n/,
  );
  for (const other of [end([left], true), end([{ ...left, commit: 'abc1234' }]), end([{ ...left, branch: null }])])
    assert.doesNotMatch(other, /git merge/, other);
});
