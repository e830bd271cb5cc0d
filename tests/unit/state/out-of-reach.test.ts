import assert from 'node:assert/strict';
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ifOutOfReach, readRegularFile } from '../../../src/state/files/regular-file.ts';
import { ifProcHides } from '../../../src/state/process/identity.ts';
import { emptyFolder } from '../../support/folder.ts';

test('What cannot be reached at a path counts as nothing.', (t) => {
  const folder = emptyFolder(t);
  writeFileSync(join(folder, 'file'), '');
  symlinkSync('loop', join(folder, 'loop'));
  for (const name of ['missing', 'file/below', 'loop', 'n'.repeat(300), 'a\0b'])
    assert.equal(
      ifOutOfReach(() => statSync(join(folder, name)).size, null),
      null,
      name,
    );
  assert.equal(
    ifOutOfReach(() => statSync(join(folder, 'file')).size, null),
    0,
    'control: a file that is there',
  );
});

const failing = (code: string) => (): never => {
  throw Object.assign(new Error(code), { code });
};

for (const code of ['EMFILE', 'EIO', 'ENOMEM'])
  test(`After ${code} nothing is known of a path, so it does not count as missing.`, () => {
    assert.throws(() => ifOutOfReach(failing(code), null), { code });
    assert.equal(ifOutOfReach(failing('ENOENT'), null), null, 'control: a missing file');
  });

test('The text of a file is null where no regular file can be read, and a failing disk is an error.', (t) => {
  const folder = emptyFolder(t);
  const file = join(folder, 'file');
  writeFileSync(file, 'text');
  for (const path of [folder, join(folder, 'missing'), join(file, 'below')]) assert.equal(readRegularFile(path), null);
  assert.equal(readRegularFile(file, 3), null, 'longer than its limit');
  assert.equal(readRegularFile(file), 'text');
  // Nothing is mapped at the beginning of a process.
  assert.throws(() => readRegularFile('/proc/self/mem'), { code: 'EIO' });
});

test('/proc hides processes that have ended or belong to another user; no other error counts as hidden.', () => {
  for (const code of ['ENOENT', 'ENOTDIR', 'ESRCH', 'EINVAL', 'EACCES', 'EPERM'])
    assert.equal(ifProcHides(failing(code), null), null, code);
  for (const code of ['EMFILE', 'EIO', 'ENOMEM']) assert.throws(() => ifProcHides(failing(code), null), { code });
});

test('A folder that is read as a file is an error of the program, not a missing file.', (t) => {
  assert.throws(() => ifOutOfReach(() => readFileSync(emptyFolder(t)), null), { code: 'EISDIR' });
});
