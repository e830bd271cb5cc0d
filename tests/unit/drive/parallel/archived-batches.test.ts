import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { archivedBatches, runOfBatch } from '../../../../src/drive/parallel/batch.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { BATCH } from '../../../support/evidence/record-losses.ts';
import { emptyFolder } from '../../../support/folder.ts';

test('an archived run whose task has no name of a loop, but a path, counts as unreadable', (t) => {
  const dir = emptyFolder(t);
  const env = { HOME: dir };
  const { runsDir } = loopFiles(dir, null, env);
  mkdirSync(runsDir, { recursive: true });
  const named = (name: string) => ({ ...BATCH, tasks: BATCH.tasks.map((task) => ({ ...task, name })) });
  writeFileSync(join(runsDir, '2026-01-01T00-00-00Z-stopped.json'), JSON.stringify(named('one')));
  writeFileSync(join(runsDir, '2026-01-02T00-00-00Z-stopped.json'), JSON.stringify(named('../one')));
  const read = archivedBatches(dir, env).map(({ file, batch }) => [file, batch?.tasks[0]?.name ?? null]);
  assert.deepEqual(read, [
    ['2026-01-01T00-00-00Z-stopped.json', 'one'],
    ['2026-01-02T00-00-00Z-stopped.json', null],
  ]);
});

test('a run that goes on counts what its plan has ticked, and one that is over what its record says', (t) => {
  const dir = emptyFolder(t);
  const env = { HOME: dir };
  const task = (id: number) => ({ id: `Task ${id}`, title: `Make ${id}`, status: 'open' as const, needs: [] });
  const about = { path: 'PLAN.md', branch: 'work', from: null, maxTasks: 5, done: [], blocked: [] };
  const plan = { ...about, tasks: [task(1), task(2)] };
  const resume = { verb: 'Resume', command: 'resume' };
  const [first, ...rest] = BATCH.tasks;
  assert.ok(first);
  const killed = { ...BATCH, plan, tasks: [{ ...first, planTask: 'Task 1', step: 'started' as const }, ...rest] };
  writeFileSync(join(dir, 'PLAN.md'), '- [x] **Task 1: Make 1**\n- [ ] **Task 2: Make 2**\n- [ ] **Task 3: Make 3**\n');
  const shown = (next: typeof resume | null | undefined) => {
    const ended = next === undefined ? null : { at: '2026-01-02T00:00:00Z', status: 'interrupted', text: '', next };
    const { done, total, tasks } = runOfBatch(
      { ...killed, ended },
      { projectDir: dir, env, at: '2026-01-03T00:00:00Z' },
    );
    return [done, total, tasks[0]?.status];
  };
  assert.deepEqual(
    [shown(undefined), shown(resume)],
    [
      [1, 3, 'complete'],
      [1, 3, 'complete'],
    ],
  );
  assert.deepEqual(shown(null).slice(0, 2), [0, 2], 'over');
  rmSync(join(dir, 'PLAN.md'));
  assert.deepEqual(shown(undefined).slice(0, 2), [0, 2], 'control: without its plan it is as recorded');
});
