import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { emptyFolder } from '../../support/folder.ts';
import { plainProgram } from '../../support/plain-program.ts';

test('a message of megabytes on a single line does not hang', async (t) => {
  const reader = await plainProgram(emptyFolder(t), "import '../unit/engine/support/long-messages.ts';");
  const { status, signal, stderr } = spawnSync(process.execPath, [reader], { timeout: 300_000, encoding: 'utf8' });
  assert.deepEqual([status, signal], [0, null], stderr);
});
