import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checklistNow } from '../../../../src/drive/prompt/read-task.ts';
import { emptyFolder } from '../../../support/folder.ts';

const LIST = '---\nmodel: opus\n---\n- [x] one\n- [ ] two\n';

test('counts the items of the checklist file as it is now, and of no other file', (context) => {
  const dir = emptyFolder(context);
  for (const name of ['task.md', 'RALPH.md', 'PROMPT.md']) writeFileSync(join(dir, name), LIST);
  assert.deepEqual(checklistNow(dir, 'task.md'), { done: 1, total: 2 });
  assert.equal(checklistNow(dir, 'RALPH.md'), null);
  assert.equal(checklistNow(dir, 'PROMPT.md'), null);
});

test('returns nothing for a missing file, a folder, a dangling link or a file that is far too large', (context) => {
  const dir = emptyFolder(context);
  for (const name of ['a', 'b', 'c', 'd']) mkdirSync(join(dir, name));
  mkdirSync(join(dir, 'b/task.md'));
  symlinkSync(join(dir, 'nothing'), join(dir, 'c/task.md'));
  writeFileSync(join(dir, 'd/task.md'), `${LIST}${'x'.repeat(2_000_000)}`);
  for (const name of ['a', 'b', 'c', 'd']) assert.equal(checklistNow(dir, `${name}/task.md`), null, name);
});
