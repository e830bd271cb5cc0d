import assert from 'node:assert/strict';
import { test } from 'node:test';
import { guardRules } from '../../../../src/drive/hook/guard-context.ts';
import { readOpenTask, writeOpenTask } from '../../../../src/drive/records/open-task-file.ts';
import { aProject, start } from '../../../support/drive/drive-project.ts';

const MEMORY = [
  '.claude/context/memory/learnings.md',
  '.claude/context/memory/decisions.md',
  '.claude/ralph/guardrails.md',
];

test('the agent of a plan may write the memory that its prompt names, whatever the scope of its task', (t) => {
  const project = aProject(t);
  const { stored } = start(project, true);
  const evidence = { ...stored.contract.evidence, openTask: null };
  const contract = {
    ...stored.contract,
    evidence,
    policy: { ...stored.contract.policy, plan: { maxTasks: 5, from: null } },
  };
  const entriesOf = (scope: readonly string[]): readonly string[] | undefined => {
    const opened = {
      id: 'Task 1',
      title: 'Make',
      text: '',
      scope,
      planPath: 'PLAN.md',
      progressPath: 'PLAN.progress.md',
    };
    const stands = { commit: '', branch: 'work', dirty: [], plan: '', progress: null };
    writeOpenTask(project.files, { loopId: contract.loopId, ...opened, ...stands });
    const task = readOpenTask(project.files, contract);
    return guardRules(project.files, project.env, { ...stored, contract }, task).scope?.entries;
  };
  assert.deepEqual(entriesOf(['src']), ['src', ...MEMORY]);
  assert.deepEqual(entriesOf([]), []);
});
