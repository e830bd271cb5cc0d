import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { filesAside } from '../../../../src/task/git/files-aside.ts';
import { repositoryAround } from '../../../../src/task/git/record-tree.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { commitFolder } from '../../../support/git.ts';
import { ENV } from '../../../support/repository.ts';
import { longTest } from '../../../support/short-form.ts';

longTest('names every ignored file of a repository inside, however many there are', async (t) => {
  const dir = emptyFolder(t);
  const inner = join(dir, 'inner');
  mkdirSync(inner);
  writeFileSync(join(inner, '.gitignore'), '*.log\n');
  commitFolder(inner);
  commitFolder(dir);
  const count = 150_000;
  for (let nth = 0; nth < count; nth += 1) writeFileSync(join(inner, `${nth}.log`), '');
  const around = await repositoryAround(dir, ENV, undefined);
  assert.ok(around !== null);
  const { ignored } = await filesAside(around, () => false);
  assert.equal(ignored.length, count);
  assert.ok(ignored.includes('inner/7.log'));
});
