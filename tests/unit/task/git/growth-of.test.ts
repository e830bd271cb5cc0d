import '../../../support/starts-processes.ts';
import assert from 'node:assert/strict';
import { appendFileSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { recordHead, repositoryAround } from '../../../../src/task/git/record-tree.ts';
import { freeBytes, growthOf } from '../../../../src/task/undo/put-files.ts';
import { applyUndo, planUndo, undoBack } from '../../../../src/task/undo/undo.ts';
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

/** A loop that has worked at any time. */
const ALWAYS = {
  sandbox: undefined,
  isLoops: () => true,
  lastWork: null,
  startedAt: 0,
  freeBytes: () => Infinity,
  loopId: 'loop-1',
};

test('an undo brings a file back whose place a folder has, also in the index, and can be taken back', async (t) => {
  const directory = repository(t, { f: 'file\n', 'd/a': 'a\n' });
  const around = await repositoryAround(directory, ENV);
  assert.ok(around !== null);
  const start = await recordHead(around, 'refs/ralph-loop/loop-1/start');
  for (const path of ['f', 'd']) rmSync(join(directory, path), { recursive: true });
  mkdirSync(join(directory, 'f'));
  writeFileSync(join(directory, 'f/in'), 'in\n');
  writeFileSync(join(directory, 'd'), 'file\n');
  git(directory, 'add', '-A');
  git(directory, 'commit', '-qm', 'changed places');
  const undo = async () => applyUndo(await planUndo(directory, ENV, { ...ALWAYS, start, end: null }), ALWAYS, true);
  const lock = join(directory, '.git', `${git(directory, 'symbolic-ref', 'HEAD').trim()}.lock`);
  writeFileSync(lock, '');
  await assert.rejects(undo(), { message: /File exists\..*\. Only a part was undone\. Run undo again for the rest\./ });
  rmSync(lock);
  await undo();
  assert.deepEqual(
    ['f', 'd/a'].map((path) => readFileSync(join(directory, path), 'utf8')),
    ['file\n', 'a\n'],
  );
  assert.equal(git(directory, 'status', '--porcelain') + git(directory, 'log', '--format=%s'), 'first\n');
  for (const _ of ['the second', 'the first']) assert.deepEqual(await undoBack(directory, ENV, ALWAYS), []);
  assert.ok(statSync(join(directory, 'd')).isFile() && existsSync(join(directory, 'f/in')));
  assert.equal(git(directory, 'status', '--porcelain'), '');
});

test('an undo of a folder is refused where a commit since the start changes other folders alone', async (t) => {
  const top = repository(t, { 'p [a]/f': '1\n', 'b/f': '1\n', lock: '1\n' });
  const directory = join(top, 'p [a]');
  const around = await repositoryAround(directory, ENV);
  assert.ok(around !== null);
  const start = await recordHead(around, 'refs/ralph-loop/loop-1/start');
  const plan = () => planUndo(directory, ENV, { ...ALWAYS, start, end: null });
  const commit = (message: string, ...paths: readonly string[]): void => {
    for (const path of paths) appendFileSync(join(top, path), `${message}\n`);
    git(top, 'commit', '-qam', message, '--allow-empty');
  };
  commit('here', 'p [a]/f');
  commit('both', 'p [a]/f', 'lock');
  commit('empty');
  commit('above', 'lock');
  git(top, 'checkout', '-qb', 'side');
  commit('side', 'p [a]/f');
  git(top, 'checkout', '-q', '-');
  commit('main', 'p [a]/f', 'lock');
  git(top, 'merge', '-q', '-s', 'ours', '-m', 'joined', 'side');
  const said = (commits: readonly string[]): string[] => commits.map((one) => one.split(' ').slice(1).join(' '));
  assert.deepEqual(
    said((await plan()).commits).sort(),
    ['above', 'both', 'empty', 'here', 'joined', 'main', 'side'],
    'control',
  );
  commit('work of b', 'b/f');
  await assert.rejects(plan(), {
    message: /not the loop's or are of another folder: [0-9a-f]+ work of b\. Nothing was changed\./,
  });
});
