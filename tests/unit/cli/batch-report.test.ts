import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportLines } from '../../../src/cli/run/batch/batch-report.ts';
import { type BatchTask, NEW_END } from '../../../src/drive/parallel/batch.ts';
import { cells, wrapText } from '../../../src/term/write-text.ts';

const DONE = {
  ...NEW_END,
  status: 'complete',
  code: 0,
  iterations: 3,
  costUsd: 1.5,
  tokens: 12_345,
  message: 'Complete.',
};

function task(name: string, end: Partial<NonNullable<BatchTask['end']>> | null): BatchTask {
  const whole = end === null ? null : { ...DONE, durationMs: 134_000, ...end };
  return { name, taskPath: `${name}/RALPH.md`, words: [], step: whole === null ? 'waiting' : 'ended', end: whole };
}

const WHY = 'Stopped by the circuit breaker (no-progress): five iterations in a row changed nothing in the project.';
const TASKS = [
  task('docs', { commit: 'abc1234', proved: { proof: 'red-to-green', files: 12 } }),
  task('types', { status: 'circuit-open', code: 2, iterations: 12, costUsd: 20.25, message: WHY }),
  task('tests', { problem: 'tests: ralph/tests conflicts with the current branch in a.ts.', code: 3 }),
  task('later', null),
];

/** As a terminal of this width shows it. */
function shown(tasks: readonly BatchTask[], columns: number): string[] {
  const lines = reportLines({ tasks, refused: null }, '/nowhere', columns).join('\n');
  return wrapText(lines, columns).split('\n');
}

test('the table has a row for each task, why it is not done below it, and the sums', () => {
  assert.deepEqual(shown(TASKS, 120).slice(0, 9), [
    'task   outcome          proof         files  iterations  tokens    cost    time  branch',
    'docs   complete         red-to-green     12           3   12.3k   $1.50  2m 14s  abc1234',
    'types  circuit-open                                  12   12.3k  $20.25  2m 14s',
    '    Stopped by the circuit breaker (no-progress): five iterations in a row changed nothing in the project.',
    'tests  complete                                       3   12.3k   $1.50  2m 14s',
    '    tests: ralph/tests conflicts with the current branch in a.ts.',
    'later  not started',
    'total  2 of 4 complete                               18   37.0k  $23.25  6m 42s',
    'ralph-loop: not all tasks have ended. Resume them: ralph-loop run --resume.',
  ]);
});

test('a narrow table keeps the proof of each task, and goes without branch and tokens', () => {
  assert.deepEqual(shown(TASKS, 80).slice(0, 2), [
    'task   outcome          proof         files  iterations  tokens    cost    time',
    'docs   complete         red-to-green     12           3   12.3k   $1.50  2m 14s',
  ]);
  assert.deepEqual(shown(TASKS, 74).slice(0, 2), [
    'task   outcome          proof         files  iterations    cost    time',
    'docs   complete         red-to-green     12           3   $1.50  2m 14s',
  ]);
});

test('what is unknown for every task takes no room', () => {
  const [head, row] = shown([task('a', { costUsd: null, tokens: 0, durationMs: null })], 80);
  assert.deepEqual([head, row], ['task   outcome          iterations', 'a      complete                  3']);
});

for (const columns of [80, 120]) {
  test(`at ${columns} columns no row is wider, and no word is broken`, () => {
    const long = 'a-name-of-fifty-characters-that-hardly-fits-beside';
    for (const tasks of [TASKS, [...TASKS, task(long, { commit: 'abc1234' })]]) {
      const rows = shown(tasks, columns);
      for (const row of rows) assert.ok(cells(row) <= columns, row);
      const words = reportLines({ tasks, refused: null }, '/nowhere', columns).join(' ').split(/\s+/);
      assert.deepEqual(rows.join(' ').split(/\s+/), words, 'every word stands whole in some row');
      const figures = rows.find((row) => row.includes('circuit-open')) ?? '';
      assert.match(figures, /circuit-open +12 (?: +12\.3k)? +\$20\.25 +2m 14s/, 'figures of a task share a row');
    }
  });
}
