import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isLoopsOwn } from '../../../src/task/left-out.ts';

for (const path of [
  '.ralph-runner/status.json',
  'job/.ralph-runner/prompt.md',
  'job/.ralph-runner-archive/1/status.json',
  '.ralph/site/state.json',
  '.ralph/site/iterations/1.md',
]) {
  test(`${path} is the loop's own`, () => assert.ok(isLoopsOwn(path)));
}

for (const path of [
  '.ralph-runner.js',
  'src/.ralph-runner',
  'src/a.ralph-runner/b.js',
  '.ralph/site/task.md',
  'state.json',
]) {
  test(`${path} is a file of the project`, () => assert.ok(!isLoopsOwn(path)));
}
