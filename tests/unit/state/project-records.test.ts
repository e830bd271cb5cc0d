import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readProjectRecord, storeProjectRecord } from '../../../src/state/evidence/project-records.ts';
import { aProject } from '../../support/drive/drive-project.ts';

test('A record of an earlier build is read without its mark.', (t) => {
  const { files } = aProject(t);
  storeProjectRecord(files, files.batch, { isListed: true, atOnce: 2 });
  assert.deepEqual(readProjectRecord(files, files.batch), { atOnce: 2 });
});
