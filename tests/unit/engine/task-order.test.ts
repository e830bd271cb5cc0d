import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlanTask, PlanTaskStatus } from '../../../src/engine/plan/task-order.ts';
import { inScope, nextPlanTask, planKey } from '../../../src/engine/plan/task-order.ts';

function task(id: string, status: PlanTaskStatus, ...dependsOn: string[]): PlanTask {
  return { id, title: 't', status, dependsOn, scope: [], line: 1 };
}

test('skips a blocked task with everything that depends on it, and names the chain', () => {
  const choice = nextPlanTask([
    task('Task 1', 'blocked'),
    task('Task 2', 'open', 'Task 1'),
    task('Task 3', 'open', 'Task 2'),
    task('Task 4', 'open'),
  ]);
  assert.equal(choice.next?.id, 'Task 4');
  assert.deepEqual(
    choice.passed.map(({ id, because }) => [id, because]),
    [
      ['Task 1', 'Task 1'],
      ['Task 2', 'Task 1'],
      ['Task 3', 'Task 1'],
    ],
  );
});

for (const [what, tasks, stop] of [
  ['all are done', [task('1', 'done')], 'complete'],
  ['only a task for a person is left', [task('1', 'done'), task('2', 'manual-verify')], 'needs-verification'],
  ['what is left waits for a person', [task('1', 'manual-verify'), task('2', 'open', '1')], 'needs-verification'],
  ['a blocked one is left beside it', [task('1', 'blocked'), task('2', 'manual-verify')], 'needs-verification'],
  ['everything left is blocked', [task('1', 'blocked'), task('2', 'open', '1')], 'blocked'],
  ['tasks wait for each other', [task('1', 'open', '2'), task('2', 'open', '1')], 'blocked'],
] as const) {
  test(`where ${what}, the plan stops as ${stop}`, () => {
    const choice = nextPlanTask(tasks);
    assert.deepEqual([choice.next, choice.stop], [null, stop]);
  });
}

test('does not choose tasks before the one to begin from', () => {
  const tasks = [task('Task 1', 'open'), task('Task 2', 'open'), task('Task 3', 'open')];
  assert.equal(nextPlanTask(tasks, 'Task 2').next?.id, 'Task 2');
  assert.equal(nextPlanTask(tasks, 'task 3').next?.id, 'Task 3');
  const rest = nextPlanTask([task('Task 1', 'open'), task('Task 2', 'done')], 'Task 2');
  assert.deepEqual([rest.next, rest.stop], [null, 'paused-for-review']);
});

test('an id names the same task with and without the word before it', () => {
  for (const id of ['Task 5', ' tasks  5 ', 'TASK 5', '5']) assert.equal(planKey(id), '5');
  assert.equal(planKey('Auth task 5'), 'auth task 5');
});

test('an obstacle is named as unknown where a dependency is in no task, and a done one is none', () => {
  const tasks = [task('Task 1', 'done', 'Task 9'), task('Task 2', 'open', 'Task 1', 'Task 9'), task('Task 3', 'open')];
  assert.deepEqual(nextPlanTask(tasks).passed, [{ id: 'Task 2', because: 'Task 9', why: 'unknown' }]);
});

test('tasks that wait for each other are skipped because of the first of them', () => {
  const tasks = [task('Task 1', 'open', 'Task 2'), task('Task 2', 'open', 'Task 1')];
  const because = { because: 'Task 1', why: 'unknown' };
  assert.deepEqual(nextPlanTask(tasks).passed, [
    { id: 'Task 1', ...because },
    { id: 'Task 2', ...because },
  ]);
});

test('a task that waits for one that can be worked on is not skipped', () => {
  const choice = nextPlanTask([task('Task 1', 'open'), task('Task 2', 'open', 'Task 1')]);
  assert.deepEqual([choice.next?.id, choice.passed], ['Task 1', []]);
});

test('a path is in scope by its folder, file or glob, and never outside the project', () => {
  const asked: [string, string][] = [];
  const isIn = (path: string, ...scope: string[]): boolean =>
    inScope(path, scope, (glob, each) => {
      asked.push([glob, each]);
      return glob === '*.ts'
        ? each.endsWith('.ts') && !each.includes('/')
        : glob === 'lib/*/**' && each.startsWith('lib/x/');
    });
  assert.equal(isIn('a/b.ts'), true);
  assert.equal(isIn('../b.ts'), false);
  for (const all of ['', '.']) assert.equal(isIn('a/b.ts', 'src', all), true);
  assert.equal(isIn('src', 'src'), true);
  assert.equal(isIn('src/a.ts', 'src'), true);
  assert.equal(isIn('app/[id]/page.ts', 'app/[id]'), true);
  assert.equal(isIn('srcs/a.ts', 'src'), false);
  assert.deepEqual(asked, []);
  assert.equal(isIn('deep/in/a.ts', 'src', '*.ts'), true);
  assert.equal(isIn('a.js', '*.ts'), false);
  assert.equal(isIn('lib/x/a.js', 'lib/*'), true);
  assert.deepEqual(asked.slice(-2), [
    ['lib/*', 'lib/x/a.js'],
    ['lib/*/**', 'lib/x/a.js'],
  ]);
});
