import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checklistNow } from '../../../../src/drive/prompt/read-task.ts';
import { emptyFolder } from '../../../support/folder.ts';

const LIST = '---\nmodel: opus\n---\n- [x] one\n- [ ] two\n';

test('a checklist is counted as its file stands, and no other file is', (context) => {
  const dir = emptyFolder(context);
  for (const name of ['task.md', 'RALPH.md', 'PROMPT.md']) writeFileSync(join(dir, name), LIST);
  assert.deepEqual(checklistNow(dir, 'task.md'), { done: 1, total: 2 });
  assert.equal(checklistNow(dir, 'RALPH.md'), null);
  assert.equal(checklistNow(dir, 'PROMPT.md'), null);
});

test('a file that is gone, a folder, a link to nothing or far too large says nothing', (context) => {
  const dir = emptyFolder(context);
  for (const name of ['a', 'b', 'c', 'd']) mkdirSync(join(dir, name));
  mkdirSync(join(dir, 'b/task.md'));
  symlinkSync(join(dir, 'nothing'), join(dir, 'c/task.md'));
  writeFileSync(join(dir, 'd/task.md'), `${LIST}${'x'.repeat(2_000_000)}`);
  for (const name of ['a', 'b', 'c', 'd']) assert.equal(checklistNow(dir, `${name}/task.md`), null, name);
});
