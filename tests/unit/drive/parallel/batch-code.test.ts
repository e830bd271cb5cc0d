import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NEW_END, NEW_TASK, type PlanBatch } from '../../../../src/drive/parallel/batch.ts';
import { planEnd } from '../../../../src/drive/parallel/plan-entry.ts';
import { batchCode } from '../../../../src/drive/parallel/run-batch.ts';
import type { BatchTask } from '../../../../src/engine/schema/batch.ts';
import { render } from '../../../../src/text/message.ts';
import { BATCH } from '../../../support/evidence/record-losses.ts';
import { folderWith } from '../../../support/folder.ts';

function tasks(...codes: readonly (number | null)[]): BatchTask[] {
  return codes.map((code, at): BatchTask => {
    const known = { status: 'x', iterations: 1, costUsd: null, tokens: 0, message: '', ...NEW_END };
    const end = code === null ? null : { ...known, code };
    return {
      ...NEW_TASK,
      name: `t${at}`,
      taskPath: `t${at}`,
      words: [],
      step: end === null ? 'waiting' : 'ended',
      end,
    };
  });
}

test('the exit code of several loops is the first of 130, 1, 2, 3 that one left, and 0 if all completed', () => {
  const expected: readonly (readonly [number, readonly (number | null)[], object | null])[] = [
    [0, [0, 0], null],
    [3, [0, 3], null],
    [2, [3, 2, 0], null],
    [1, [2, 1, 3], null],
    [130, [1, 130, 0], null],
    [3, [0, null], null],
    [2, [0, null], { more: {} }],
  ];
  for (const [code, codes, refused] of expected) assert.equal(batchCode(tasks(...codes), refused), code, `${codes}`);
});

test('a plan that is held ends with 3, also if the loop of a task has left, unless its user ended it', (t) => {
  const dir = folderWith(t, { 'PLAN.md': '# Plan\n\n- [ ] **Task 1: Make it**\n' });
  const plan = { path: 'PLAN.md', branch: 'work', from: null, maxTasks: 1, tasks: [], done: [], blocked: [] };
  const codeOf = (code: number | null, isHeld: boolean, pressed: boolean): number => {
    const entries = tasks(code).map((task): BatchTask => ({ ...task, step: 'started', planTask: 'Task 1' }));
    const batch: PlanBatch = { ...BATCH, words: [], tasks: entries, plan };
    return planEnd(dir, batch, { refused: null, pressed, isHeld }).code;
  };
  assert.deepEqual([codeOf(null, true, false), codeOf(130, true, false)], [3, 3]);
  assert.deepEqual(
    [codeOf(130, true, true), codeOf(130, false, false), codeOf(1, true, false)],
    [130, 130, 1],
    'control',
  );
});

test('a plan that waits for a review names the command that goes on side by side', (t) => {
  const dir = folderWith(t, { 'PLAN.md': '# Plan\n\n- [x] **Task 1: Make it**\n- [ ] **Task 2: Use it**\n' });
  const plan = { path: 'PLAN.md', branch: 'work', from: null, maxTasks: 1, tasks: [], done: ['Task 1'], blocked: [] };
  const batch: PlanBatch = { ...BATCH, words: [], tasks: [], plan };
  const { message } = planEnd(dir, batch, { refused: null, pressed: false, isHeld: false });
  const next = `ralph-loop run --task PLAN.md --plan --from "Task 2" --parallel ${BATCH.atOnce}.`;
  assert.ok(render(message, { name: null, mode: 'hook' }).endsWith(`Review the commits, then continue: ${next}`));
});
