import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { dropSnapshot } from '../../../../src/state/snapshot/drop-snapshot.ts';
import type { Project } from '../../../support/drive/drive-project.ts';
import { aProtectedLoop, call, noticesIn, treeOf } from '../../../support/snapshot/guarded-project.ts';

const VANDAL = fileURLToPath(new URL('../../../support/snapshot/vandal.mjs', import.meta.url));
const ROUNDS = 15;
const CHANGES = 75;

function spoil({ directory }: Project, seed: number, count: number): Record<string, number> {
  const words = [VANDAL, join(directory, 'tests'), join(directory, 'src'), String(seed), String(count)];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as Record<string, number>;
}

test('undoes 1,000 random changes of protected files without losing other work', async (t) => {
  const project = aProtectedLoop(t);
  const tests = join(project.directory, 'tests');
  const before = treeOf(tests);
  const done: Record<string, number> = {};
  for (let round = 1; round <= ROUNDS; round += 1) {
    let work: Record<string, string> = {};
    await call(project, () => {
      for (const [name, count] of Object.entries(spoil(project, round, CHANGES)))
        done[name] = (done[name] ?? 0) + count;
      work = treeOf(join(project.directory, 'src'));
    });
    assert.deepEqual(treeOf(tests), before, `round ${round}`);
    assert.deepEqual(treeOf(join(project.directory, 'src')), work, `round ${round}`);
  }
  const sum = Object.values(done).reduce((a, b) => a + b, 0);
  assert.ok(sum >= 1000, JSON.stringify(done));
  assert.equal(noticesIn(project).filter(({ kind }) => kind === 'restore').length, ROUNDS);
});

test('control: without its snapshot the same changes remain', async (t) => {
  const project = aProtectedLoop(t);
  const before = treeOf(join(project.directory, 'tests'));
  dropSnapshot(project.files);
  await call(project, () => void spoil(project, 1, CHANGES));
  assert.notDeepEqual(treeOf(join(project.directory, 'tests')), before);
});
