import assert from 'node:assert/strict';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  dropProjectRecord,
  readProjectRecord,
  storeProjectRecord,
} from '../../../src/state/evidence/project-records.ts';
import { loopFiles } from '../../../src/state/loop-files.ts';
import { emptyFolder } from '../../support/folder.ts';

test('a folder in place of a record of a project, or of their digests, is moved aside by the next write', (t) => {
  const projectDir = emptyFolder(t);
  const files = loopFiles(projectDir, null, { HOME: projectDir, XDG_STATE_HOME: join(projectDir, 'state') });
  for (const damaged of [files.batch, files.records])
    for (const write of [storeProjectRecord, dropProjectRecord]) {
      storeProjectRecord(files, files.batch, { one: 1 });
      rmSync(damaged);
      mkdirSync(join(damaged, 'more'), { recursive: true });
      write(files, files.batch, { one: 2 });
      const now = write === storeProjectRecord ? { one: 2 } : null;
      assert.deepEqual(readProjectRecord(files, files.batch), now);
    }
});
