import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { aProject, aStop, put } from '../../../support/drive/drive-project.ts';
import { startNow } from '../../../support/drive/start-now.ts';
import '../../../support/starts-processes.ts';

const list = (...items: readonly string[]): string =>
  `---\nvalidation: ["true"]\n---\n# Checklist\n\n${items.map((item) => `- [ ] ${item}\n`).join('')}`;

test('a Stop stores the items of a checklist only when one was added', async (t) => {
  const project = aProject(t);
  const { directory: projectDir, env } = project;
  const task = join(projectDir, 'list', 'task.md');
  put(task, list('One', 'Two'));
  const loop = { ...project, files: loopFiles(projectDir, 'list', env) };
  startNow({
    ...{ projectDir, name: 'list', task: 'list', flags: {}, env, at: new Date().toISOString(), existing: 'refuse' },
    ...{ consented: true, headless: false, launched: false, clientVersion: null, bundleDir: null, baseline: null },
  });
  const { ino } = statSync(loop.files.seen);
  assert.equal((await aStop(loop, {}, { RALPH_LOOP: 'list' }))?.decision, 'block');
  assert.equal(statSync(loop.files.seen).ino, ino, 'nothing was added');
  put(task, list('One', 'Two', 'Three'));
  assert.equal((await aStop(loop, { last_assistant_message: 'More.' }, { RALPH_LOOP: 'list' }))?.decision, 'block');
  assert.deepEqual(JSON.parse(readFileSync(loop.files.seen, 'utf8')).items, ['One', 'Two', 'Three']);
});
