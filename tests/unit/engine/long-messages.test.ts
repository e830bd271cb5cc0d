import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

test('a message of 10 MB on a single line does not hang', () => {
  const reader = fileURLToPath(new URL('support/long-messages.ts', import.meta.url));
  const node = [...process.execArgv.filter((flag) => !flag.startsWith('--test')), reader];
  const { status, signal, stderr } = spawnSync(process.execPath, node, { timeout: 300_000, encoding: 'utf8' });
  assert.deepEqual([status, signal], [0, null], stderr);
});
