import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { put } from '../../../support/drive/drive-project.ts';
import { EVERY_DRIVER } from '../../../support/drive/every-driver.ts';
import '../../../support/starts-processes.ts';

test('a run whose program is removed calls no model in vain and ends with the path of the program', async (t) => {
  for (const isRemoved of [true, false]) {
    const bundleDir = mkdtempSync(join(tmpdir(), 'ralph-bundle-'));
    t.after(() => rmSync(bundleDir, { recursive: true, force: true }));
    const main = join(bundleDir, 'scripts', 'main.cjs');
    put(main, '');
    const files = { '.claude/ralph/PROMPT.md': '---\nmax_iterations: 3\n---\nDo it.\n' };
    const { turns, status, message } = await EVERY_DRIVER.runner(t, { files, request: { bundleDir } }, [
      () => {
        if (isRemoved) rmSync(main, { force: true });
        return 'Half of it.';
      },
    ]);
    if (!isRemoved) assert.deepEqual([turns, status], [3, 'max-iterations'], 'control');
    else assert.deepEqual([turns, status, message.includes(`${main}, is missing`)], [1, 'error', true], message);
  }
});
