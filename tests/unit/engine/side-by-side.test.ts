import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  mayOverlap,
  nextPlanTask,
  type PlanTask,
  planKey,
  sequentialOrder,
  tasksToBegin,
} from '../../../src/engine/plan/task-order.ts';
import fc from '../../support/property.ts';

const plan = (tasks: readonly Partial<PlanTask>[]): PlanTask[] =>
  tasks.map((task, at) => ({
    ...{ id: `Task ${at + 1}`, title: 'T', status: 'open', dependsOn: [], scope: [`s${at}`], line: at + 1 },
    ...task,
  }));
const ids = (tasks: readonly PlanTask[]): string[] => tasks.map(({ id }) => id);
const begin = (tasks: PlanTask[], atWork: string[] = [], most = 100): string[] =>
  ids(tasksToBegin(tasks, { from: null, most, atWork: new Set(atWork.map(planKey)) }));

test('scopes overlap if one path is or contains the other, and globs count as their folder', () => {
  for (const [one, other] of [
    [['src'], ['src/a.ts']],
    [['src/a.ts'], ['src/a.ts', 'b']],
    [['./src/'], ['src\\api']],
    [['src/*.ts'], ['src/b.md']],
    [['*.md'], ['src']],
    [[], ['src']],
    [['.'], ['src']],
    [['SRC'], ['src/a']],
    [['src/{a,b}/x'], ['src/c']],
  ] as const) {
    assert.ok(mayOverlap(one, other), `${one} and ${other}`);
    assert.ok(mayOverlap(other, one), `${other} and ${one}`);
  }
  for (const [one, other] of [
    [['src'], ['source']],
    [['src/a'], ['src/ab', 'test']],
    [['src/*.ts'], ['test/*.ts']],
  ] as const) {
    assert.equal(mayOverlap(one, other), false, `${one} and ${other}`);
  }
});

test('the sequential order follows dependencies, then the plan', () => {
  const tasks = plan([{ dependsOn: ['3'] }, {}, {}, { status: 'blocked' }, { dependsOn: ['4'] }]);
  assert.deepEqual(ids(sequentialOrder(tasks, null, 100)), ['Task 2', 'Task 3', 'Task 1']);
  assert.deepEqual(ids(sequentialOrder(tasks, null, 1)), ['Task 2']);
  assert.deepEqual(ids(sequentialOrder(tasks, '3', 100)), ['Task 3']);
});

test('a task waits for all earlier ones that may change its files', () => {
  const tasks = plan([{ scope: ['a'] }, { scope: ['b'], dependsOn: ['1'] }, { scope: ['b/c'] }, { scope: ['d'] }]);
  assert.deepEqual(begin(tasks), ['Task 1', 'Task 4']);
  assert.deepEqual(begin(tasks, ['Task 1']), ['Task 4']);
  assert.deepEqual(begin(tasks, [], 2), ['Task 1']);
});

test('a task without a scope runs alone', () => {
  const tasks = plan([{ scope: ['a'] }, { scope: [] }, { scope: ['b'] }]);
  assert.deepEqual(begin(tasks), ['Task 1']);
  assert.deepEqual(begin(plan([{ status: 'done' }, { scope: [] }, { scope: ['b'] }])), ['Task 2']);
});

const anyPlan = fc
  .array(
    fc.record({
      needs: fc.array(fc.nat(11), { maxLength: 3 }),
      scope: fc.array(fc.constantFrom('a', 'a/b', 'a/*', 'c', 'd', '*.md'), { maxLength: 2 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  .map((tasks) => plan(tasks.map(({ needs, scope }) => ({ dependsOn: needs.map((at) => `Task ${at + 1}`), scope }))));

/** Runs a plan side by side: agents end in any order, work is committed in turn. Returns the commits. */
function run(tasks: PlanTask[], atOnce: number, picks: readonly number[], choose = begin): string[] {
  let standing = tasks;
  const [working, waiting, commits] = [new Set<string>(), new Set<string>(), [] as string[]];
  for (let step = 0; ; step++) {
    for (const id of choose(standing, [...working, ...waiting])) if (working.size < atOnce) working.add(id);
    const both = standing.filter(({ id }) => working.has(id) || waiting.has(id));
    for (const [at, task] of both.entries()) {
      for (const other of both.slice(at + 1)) assert.equal(mayOverlap(task.scope, other.scope), false);
    }
    const next = nextPlanTask(standing).next?.id;
    if (next !== undefined && waiting.has(next)) {
      waiting.delete(next);
      commits.push(next);
      standing = standing.map((task) => (task.id === next ? { ...task, status: 'done' } : task));
    } else if (working.size > 0) {
      const ended = [...working][(picks[step % picks.length] ?? 0) % working.size] ?? '';
      working.delete(ended);
      waiting.add(ended);
    } else return commits;
  }
}

test('in parallel, every plan ends with the commits of a sequential run', () => {
  fc.assert(
    fc.property(
      anyPlan,
      fc.integer({ min: 1, max: 4 }),
      fc.array(fc.nat(), { minLength: 1 }),
      (tasks, atOnce, picks) => {
        assert.deepEqual(run(tasks, atOnce, picks), ids(sequentialOrder(tasks, null, 100)));
      },
    ),
  );
});

test('control: if only running tasks are considered, two tasks wait for each other', () => {
  const tasks = plan([{ scope: ['a'] }, { scope: ['b'], dependsOn: ['1'] }, { scope: ['b'] }]);
  const careless = (standing: PlanTask[], atWork: string[] = []): string[] => {
    const busy = standing.filter(({ id }) => atWork.includes(id));
    return begin(
      standing.map((task) => ({ ...task, scope: [task.id] })),
      atWork,
    ).filter((id) => {
      const scope = standing.find((task) => task.id === id)?.scope ?? [];
      return !busy.some((other) => mayOverlap(other.scope, scope));
    });
  };
  assert.deepEqual(run(tasks, 2, [0], careless), ['Task 1']);
});
