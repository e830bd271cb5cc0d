import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { aStop, put, stateOf } from '../../../support/drive/drive-project.ts';
import { aProtectedLoop, call } from '../../../support/snapshot/guarded-project.ts';
import '../../../support/starts-processes.ts';

const DONE = { last_assistant_message: 'RALPH_AUDIT_COMPLETE_NO_FINDINGS' };

for (const isRestored of [false, true])
  test(`${isRestored ? 'control: a protected file that was restored does not hold' : 'a protected file that could not be restored holds'} the claim`, async (t) => {
    const project = aProtectedLoop(t);
    const path = join(project.directory, 'tests', 'file-0.ts');
    const original = readFileSync(path, 'utf8');
    await call(project, () => {
      writeFileSync(path, 'spoiled\n');
      // Without a folder for the replaced version, nothing is replaced.
      if (!isRestored) put(join(project.files.archiveDir, 'replaced'), 'no folder');
    });
    assert.equal(readFileSync(path, 'utf8'), isRestored ? original : 'spoiled\n');
    const said = JSON.stringify(await aStop(project, DONE));
    if (isRestored) assert.match(said, /Complete/);
    else {
      assert.match(said, /protected files: .*tests\/file-0\.ts \(changed\)/);
      assert.equal(stateOf(project).status, 'running');
    }
  });
