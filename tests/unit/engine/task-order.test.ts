import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PlanTask, PlanTaskStatus } from '../../../src/engine/plan/task-order.ts';
import { nextPlanTask } from '../../../src/engine/plan/task-order.ts';

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
