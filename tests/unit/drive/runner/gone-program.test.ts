import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { put } from '../../../support/drive/drive-project.ts';
import { EVERY_DRIVER } from '../../../support/drive/every-driver.ts';
import '../../../support/starts-processes.ts';

test('a run whose program or hooks are removed calls no model in vain and ends with their path', async (t) => {
  for (const removed of ['program', 'hooks of a project', 'nothing']) {
    const project = mkdtempSync(join(tmpdir(), 'ralph-bundle-'));
    t.after(() => rmSync(project, { recursive: true, force: true }));
    const bundleDir = join(project, '.claude', 'skills', 'ralph-loop');
    const main = join(bundleDir, 'scripts', 'main.cjs');
    const hook = join(project, '.claude', 'hooks', 'ralph-pre-tool-use.cjs');
    for (const path of [main, hook]) put(path, '');
    const gone = removed === 'program' ? main : hook;
    const files = { '.claude/ralph/PROMPT.md': '---\nmax_iterations: 3\n---\nDo it.\n' };
    const { turns, status, message } = await EVERY_DRIVER.runner(t, { files, request: { bundleDir } }, [
      () => {
        if (removed !== 'nothing') rmSync(gone);
        return 'Half of it.';
      },
    ]);
    if (removed === 'nothing') assert.deepEqual([turns, status], [3, 'max-iterations'], 'control');
    else assert.deepEqual([turns, status, message.includes(`${gone}, is missing`)], [1, 'error', true], message);
  }
});
