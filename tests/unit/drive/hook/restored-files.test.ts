import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { listEvidence } from '../../../../src/state/evidence/evidence.ts';
import { beginEvidence } from '../../../../src/state/evidence/store-evidence.ts';
import { listFiles, MOST_ENTRIES } from '../../../../src/state/snapshot/list-files.ts';
import { dropSnapshot } from '../../../../src/state/snapshot/snapshot.ts';
import { changesOfUnchanged, readUnchanged, storeUnchanged } from '../../../../src/state/snapshot/unchanged-files.ts';
import type { Project } from '../../../support/drive/drive-project.ts';
import { IS_LONG } from '../../../support/short-form.ts';
import { aProtectedLoop, call, noticesIn, treeOf } from '../../../support/snapshot/guarded-project.ts';

const VANDAL = fileURLToPath(new URL('../../../support/snapshot/vandal.mjs', import.meta.url));
const ROUNDS = IS_LONG ? 15 : 5;
const CHANGES = 75;

function spoil({ directory }: Project, seed: number, count: number): Record<string, number> {
  const words = [VANDAL, join(directory, 'tests'), join(directory, 'src'), String(seed), String(count)];
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8' });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as Record<string, number>;
}

test('undoes hundreds of random changes of protected files without losing other work', async (t) => {
  const project = aProtectedLoop(t, undefined, { odd: true });
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
  assert.ok(sum >= (IS_LONG ? 1000 : 300), JSON.stringify(done));
  assert.equal(noticesIn(project).filter(({ kind }) => kind === 'restore').length, ROUNDS);
});

test('control: without its snapshot the same changes remain', async (t) => {
  const project = aProtectedLoop(t);
  const before = treeOf(join(project.directory, 'tests'));
  dropSnapshot(project.files);
  await call(project, () => void spoil(project, 1, CHANGES));
  assert.notDeepEqual(treeOf(join(project.directory, 'tests')), before);
});

test('restores names that are not UTF-8, and moves new ones aside readably', async (t) => {
  const project = aProtectedLoop(t, undefined, { odd: true });
  const tests = join(project.directory, 'tests');
  const at = (name: string): Buffer => Buffer.concat([Buffer.from(`${tests}/`), Buffer.from(name, 'latin1')]);
  const before = treeOf(tests);
  await call(project, () => undefined);
  assert.deepEqual(noticesIn(project), [], 'nothing has changed');
  await call(project, () => {
    writeFileSync(at('caf\xe9.ts'), 'spoiled');
    rmSync(at('d\xe9'), { recursive: true });
    writeFileSync(at('new\xe9.ts'), 'new');
  });
  assert.deepEqual(treeOf(tests), before);
  const [archive = ''] = readdirSync(join(project.files.archiveDir, 'replaced'));
  const replaced = join(project.files.archiveDir, 'replaced', archive, 'tests');
  assert.equal(readFileSync(join(replaced, 'caf%E9.ts'), 'utf8'), 'spoiled');
  assert.equal(readFileSync(join(replaced, 'new%E9.ts'), 'utf8'), 'new');
  await call(project, () => undefined);
  assert.equal(noticesIn(project).length, 1);
});

test('compares a file of a project that has more entries than a look at protected files lists', (t) => {
  const { directory, files } = aProtectedLoop(t);
  const path = join(directory, 'tests', 'last.ts');
  writeFileSync(path, 'as it was');
  const wide = join(directory, 'src');
  for (let nth = 0; nth < 1_000; nth++) writeFileSync(join(wide, `${nth}`), '');
  // Each spelling of a folder is listed again.
  const spellings = Array.from({ length: 210 }, (_, nth) => `${wide}${'/'.repeat(nth)}`);
  const set = { roots: [...spellings, path], covers: (each: string) => each === path, skips: () => false };
  assert.equal(listFiles(set, undefined, MOST_ENTRIES).cut, true, 'control');
  beginEvidence(files, 'loop-1');
  storeUnchanged(files, 'loop-1', ['tests/**'], set);
  const baseline = readUnchanged(files, { loopId: 'loop-1', evidence: listEvidence(files, 'loop-1') }, ['tests/**']);
  assert.ok(baseline);
  writeFileSync(path, 'spoiled');
  assert.deepEqual(changesOfUnchanged(files, baseline, set), [{ path, was: 'changed' }]);
});

test('reports a file whose name is not UTF-8 only after it changed', (t) => {
  const { directory, files } = aProtectedLoop(t, undefined, { odd: true });
  const set = { roots: [join(directory, 'tests')], covers: () => true, skips: () => false };
  beginEvidence(files, 'loop-1');
  storeUnchanged(files, 'loop-1', ['tests/**'], set);
  const baseline = readUnchanged(files, { loopId: 'loop-1', evidence: listEvidence(files, 'loop-1') }, ['tests/**']);
  assert.ok(baseline !== null);
  assert.deepEqual(changesOfUnchanged(files, baseline, set), []);
  rmSync(Buffer.concat([Buffer.from(`${directory}/tests/`), Buffer.from('caf\xe9.ts', 'latin1')]));
  assert.deepEqual(
    changesOfUnchanged(files, baseline, set).map(({ was }) => was),
    ['deleted'],
  );
});
