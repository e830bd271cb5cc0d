import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Run, RunTask } from '../../../src/engine/schema/batch.ts';
import { RunView } from '../../../src/web/page/report-view.ts';
import { Badge } from '../../../src/web/page/text.ts';

interface Node {
  readonly type: unknown;
  readonly props: { readonly children?: unknown };
}

/** Returns the texts of the badges that a view draws, outermost first. */
function badges(view: unknown): string[] {
  if (Array.isArray(view)) return view.flatMap(badges);
  if (view === null || typeof view !== 'object') return [];
  const { type, props } = view as Node;
  if (type === Badge) return [String((Badge(props as never) as unknown as Node).props.children)];
  const isTable = typeof type === 'function' && /^(?:RunTasks|TaskRow)$/.test(type.name);
  return badges(isTable ? (type as (given: unknown) => unknown)(props) : props.children);
}

test('a run is verified only with proof of each task, and claims nothing of what an earlier run did', () => {
  const task = (id: string, proof: RunTask['proof']): RunTask =>
    ({
      id,
      title: id,
      status: 'complete',
      done: true,
      needs: [],
      proof,
      files: null,
      costUsd: null,
      why: null,
      commit: null,
      branch: null,
    }) as never;
  const run = (tasks: readonly RunTask[]): Run =>
    ({
      title: 'Plan',
      plan: null,
      status: 'complete',
      tasks,
      next: '',
      why: '',
      endedAt: null,
      costUsd: null,
    }) as never;
  const shown = (...tasks: readonly RunTask[]): string[] =>
    badges(RunView({ data: { run: run(tasks), keys: {}, project: 'p', generatedAt: '' } as never }));
  assert.deepEqual(shown(task('a', 'red-to-green'), task('b', null), task('c', 'none')), [
    'complete, not verified',
    'complete, verified',
    'complete',
    'complete, not verified',
  ]);
  assert.equal(shown(task('a', 'red-to-green'), task('b', null))[0], 'complete', 'nothing is known of one of them');
  assert.deepEqual(shown(task('a', 'still-green'))[0], 'complete, verified', 'control');
});
