import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { archivedBatches } from '../../../../src/drive/parallel/batch.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { BATCH } from '../../../support/evidence/record-losses.ts';
import { emptyFolder } from '../../../support/folder.ts';

test('an archived run whose task has no name of a loop, but a path, counts as unreadable', (t) => {
  const dir = emptyFolder(t);
  const env = { HOME: dir };
  const { runsDir } = loopFiles(dir, null, env);
  mkdirSync(runsDir, { recursive: true });
  const named = (name: string) => ({ ...BATCH, tasks: BATCH.tasks.map((task) => ({ ...task, name })) });
  writeFileSync(join(runsDir, '2026-01-01T00-00-00Z-stopped.json'), JSON.stringify(named('one')));
  writeFileSync(join(runsDir, '2026-01-02T00-00-00Z-stopped.json'), JSON.stringify(named('../one')));
  const read = archivedBatches(dir, env).map(({ file, batch }) => [file, batch?.tasks[0]?.name ?? null]);
  assert.deepEqual(read, [
    ['2026-01-01T00-00-00Z-stopped.json', 'one'],
    ['2026-01-02T00-00-00Z-stopped.json', null],
  ]);
});
