import assert from 'node:assert/strict';
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ifOutOfReach } from '../../../src/state/files/regular-file.ts';
import { orElse } from '../../../src/text/or-else.ts';
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
    assert.equal(orElse(failing(code), null), null, 'control: orElse');
  });

test('A folder that is read as a file is an error of the program, not a missing file.', (t) => {
  assert.throws(() => ifOutOfReach(() => readFileSync(emptyFolder(t)), null), { code: 'EISDIR' });
});
