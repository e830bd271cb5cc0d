import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settingsMark } from '../../../../src/drive/start/find-task.ts';

const SETTINGS = 'max_iterations: 3\nvalidation: ["npm test"]\n';

test('settings that an editor formats are the same, others are not', () => {
  const mark = settingsMark(SETTINGS);
  for (const formatted of [
    'max_iterations: 3\r\nvalidation: ["npm test"]\r\n',
    "max_iterations:   3   \n\n# What proves it\nvalidation:\n  - 'npm test'\n",
  ])
    assert.equal(settingsMark(formatted), mark, formatted);
  for (const other of [
    'max_iterations: 30\nvalidation: ["npm test"]\n',
    'max_iterations: 3\nvalidation: ["npm test", "true"]\n',
    'max_iterations: 3\nvalidation: ["npm test" #]\n',
    '',
  ])
    assert.notEqual(settingsMark(other), mark, other);
  assert.notEqual(settingsMark('a: ['), settingsMark('a: [['), 'text that is no YAML counts as it is');
});
