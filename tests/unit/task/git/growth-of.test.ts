import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { repositoryAround } from '../../../../src/task/git/record-tree.ts';
import { freeBytes, growthOf } from '../../../../src/task/undo/put-files.ts';
import { ENV, git, repository } from '../../../support/repository.ts';

test('the growth is that of the named files, and none that a partial clone left out is fetched for it', async (t) => {
  const directory = repository(t, { 'a.txt': 'a'.repeat(5_000), 'b\tc\n.txt': 'b'.repeat(9_000), 'far.txt': 'far\n' });
  const id = git(directory, 'rev-parse', 'HEAD:far.txt').trim();
  const asked = join(directory, '.git/asked');
  for (const [key, value] of [
    ['core.repositoryFormatVersion', '1'],
    ['extensions.partialClone', 'origin'],
    ['remote.origin.promisor', 'true'],
    ['remote.origin.url', directory],
    ['remote.origin.uploadpack', `touch '${asked}'; false`],
  ] as const)
    git(directory, 'config', key, value);
  rmSync(join(directory, '.git/objects', id.slice(0, 2), id.slice(2)));
  for (const path of ['a.txt', 'b\tc\n.txt']) rmSync(join(directory, path));
  const around = await repositoryAround(directory, ENV);
  assert.ok(around !== null);
  const growth = (bring: readonly string[], removed: readonly string[] = []): Promise<number> =>
    growthOf(around, 'HEAD', bring, removed);
  assert.equal(await growth(['a.txt', 'b\tc\n.txt']), 8_192 + 12_288);
  assert.equal(await growth([], ['far.txt']), -4_096);
  assert.equal(existsSync(asked), false);
  assert.throws(() => git(directory, 'show', 'HEAD:far.txt'));
  assert.ok(existsSync(asked), 'control: it is asked for');
});

test('a file system that names no size has space', { skip: !existsSync('/proc/self') }, () => {
  assert.equal(freeBytes('/proc'), Infinity);
  assert.ok(freeBytes('/') < Infinity, 'control');
});
