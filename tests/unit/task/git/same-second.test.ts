import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, lstatSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { readGitPins } from '../../../../src/task/git/git-pins.ts';
import { passingView, statusUnderPins } from '../../../../src/task/git/git-view.ts';
import { recordTree, repositoryAround } from '../../../../src/task/git/record-tree.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { ENV, git, repository } from '../../../support/repository.ts';

const secondOf = (path: string): number => Math.floor(lstatSync(path).ctimeMs / 1_000);

/** Changes a file right after its commit, so that its size and the seconds of its times stay; then lets that second pass. */
function changeTwice(directory: string): void {
  const path = join(directory, 'src/a.ts');
  for (let next = 0; ; next++) {
    writeFileSync(path, `${next % 10}\n`);
    const first = secondOf(path);
    git(directory, 'commit', '--quiet', '--all', '--message', `${next}`);
    writeFileSync(path, 'x\n');
    if (secondOf(path) !== first) continue;
    while (Date.now() < (first + 1) * 1_000) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    return;
  }
}

test('a change in the second of the commit before it is recorded, and seen under the pins', async (t) => {
  const directory = repository(t);
  changeTwice(directory);
  const around = await repositoryAround(directory, ENV);
  assert.ok(around !== null);
  const { commit, head } = await recordTree(around, 'refs/ralph-loop/loop-1/start', 'start');
  assert.equal(git(directory, 'show', `${commit}:src/a.ts`), 'x\n');
  const pins = await readGitPins(directory, { env: ENV });
  assert.ok(pins !== null);
  const view = passingView(join(emptyFolder(t), 'view'), pins);
  const status = await statusUnderPins(directory, head, { env: ENV, view });
  assert.match(status?.kind === 'answer' ? status.text : '', / src\/a\.ts\0/);
  const copy = join(emptyFolder(t), 'index');
  copyFileSync(around.indexFile, copy);
  const env = { ...ENV, GIT_INDEX_FILE: copy };
  const seen = spawnSync('git', ['status', '--porcelain'], { cwd: directory, env, encoding: 'utf8' });
  assert.equal(seen.stdout, '', 'control: git takes a younger index at its word');
});
