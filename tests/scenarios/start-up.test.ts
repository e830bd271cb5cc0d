import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { TEST_TIMEOUT_MS } from '../support/until.ts';

test('every command of the start-up bench answers as its kind of loop does', () => {
  const words = ['--import', 'tsx', 'tests/bench/start-up.ts', '--rounds', '1'];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, {
    encoding: 'utf8',
    timeout: 2 * TEST_TIMEOUT_MS,
  });
  assert.equal(status, 0, stdout + stderr);
  assert.match(stdout, /All answer/);
});
