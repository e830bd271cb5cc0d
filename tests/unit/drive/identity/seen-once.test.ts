import assert from 'node:assert/strict';
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { aProject, aStop, put, stateOf } from '../../../support/drive/drive-project.ts';
import { startNow } from '../../../support/drive/start-now.ts';
import '../../../support/starts-processes.ts';

const list = (...items: readonly string[]): string =>
  `---\nvalidation: ["true"]\n---\n# Checklist\n\n${items.map((item) => `- [ ] ${item}\n`).join('')}`;

function aList(t: TestContext) {
  const project = aProject(t);
  const { directory: projectDir, env } = project;
  const task = join(projectDir, 'list', 'task.md');
  put(task, list('One', 'Two'));
  const loop = { ...project, files: loopFiles(projectDir, 'list', env) };
  startNow({
    ...{ projectDir, name: 'list', task: 'list', flags: {}, env, at: new Date().toISOString(), existing: 'refuse' },
    ...{ consented: true, headless: false, launched: false, clientVersion: null, bundleDir: null, baseline: null },
  });
  return { loop, task, says: (text: string) => aStop(loop, { last_assistant_message: text }, { RALPH_LOOP: 'list' }) };
}

test('a Stop stores the items of a checklist only when one was added', async (t) => {
  const { loop, task, says } = aList(t);
  const { ino } = statSync(loop.files.seen);
  assert.equal((await says('Some work.'))?.decision, 'block');
  assert.equal(statSync(loop.files.seen).ino, ino, 'nothing was added');
  put(task, list('One', 'Two', 'Three'));
  assert.equal((await says('More.'))?.decision, 'block');
  assert.deepEqual(JSON.parse(readFileSync(loop.files.seen, 'utf8')).items, ['One', 'Two', 'Three']);
});

test('a record that another program changed is not stored again with a new item', async (t) => {
  const { loop, task, says } = aList(t);
  const text = readFileSync(loop.files.seen, 'utf8');
  writeFileSync(loop.files.seen, text.replace('"One",', ''));
  put(task, list('Two', 'Three'));
  assert.match((await says('Some work.'))?.systemMessage ?? '', /seen\.list\.json was changed by another program/);
  const state = stateOf(loop);
  assert.equal(state.status === 'paused' && state.paused.reason, 'evidence-lost');
});
