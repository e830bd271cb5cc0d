import assert from 'node:assert/strict';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { test } from 'node:test';
import { projectionOf } from '../../../../src/drive/records/status-projection.ts';
import { AT } from '../../../support/drive/drive-project.ts';
import { aTaskFolder } from '../../../support/drive/folder-project.ts';

test('writes status.json under the lock, so that no older state replaces the end of a loop', (t) => {
  const { files, run } = aTaskFolder(t);
  const { renameSync } = fs;
  const locked: boolean[] = [];
  fs.renameSync = (from, to) => {
    if (to === run.status) locked.push(fs.existsSync(files.lock));
    renameSync(from, to);
  };
  t.after(() => {
    fs.renameSync = renameSync;
    syncBuiltinESMExports();
  });
  syncBuiltinESMExports();
  projectionOf(files, AT).status(AT);
  assert.deepEqual(locked, [true]);
  assert.equal(fs.existsSync(files.lock), false);
});
