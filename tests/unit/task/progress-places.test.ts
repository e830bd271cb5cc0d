import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { compare, snapshot } from '../../../src/task/progress/snapshot.ts';
import { folderWith, writeFiles } from '../../support/folder.ts';
import { after, changed, ENV, FILES, git, repository } from '../../support/repository.ts';

test('measures a project inside a larger repository as its own part', async (context) => {
  const top = repository(context, { 'part/src/a.ts': 'a\n', 'part/tasks/one/RALPH.md': '', 'elsewhere/x.ts': 'x\n' });
  const directory = join(top, 'part');
  assert.deepEqual(await after(directory, () => writeFiles(top, { 'elsewhere/x.ts': 'X\n' })), changed('no'));
  assert.deepEqual(
    await after(directory, () => writeFiles(directory, { 'src/a.ts': 'A\n' })),
    changed('yes', 'src/a.ts'),
  );
  const commit = () => git(directory, 'commit', '--quiet', '--all', '--message', 'second');
  assert.deepEqual(await after(directory, commit), changed('yes', 'src/a.ts'));
});

test('without a repository only the task folder is measured', async (context) => {
  const directory = folderWith(context, FILES);
  const bounded = ['git-repository'];
  assert.deepEqual(await after(directory, () => writeFiles(directory, { 'src/a.ts': 'A' })), {
    ...changed('unknown'),
    bounded,
  });
  const inTask = () => writeFiles(directory, { 'tasks/one/notes.md': 'some' });
  assert.deepEqual(await after(directory, inTask), { ...changed('yes', 'tasks/one/notes.md'), bounded });
});

test('a repository above that ignores the project does not measure it', async (context) => {
  const top = repository(context, { '.gitignore': 'part/\n' });
  writeFiles(join(top, 'part'), FILES);
  const { progress, bounded } = await after(join(top, 'part'), () => {});
  assert.deepEqual([progress, bounded], ['unknown', ['git-repository']]);
});

test('measures a repository inside the project by its commits', async (context) => {
  const directory = repository(context);
  const nested = join(directory, 'nested');
  writeFiles(nested, { 'x.ts': 'x' });
  git(nested, 'init', '--quiet');
  git(nested, 'add', '--all');
  git(nested, 'commit', '--quiet', '--message', 'first');
  const commit = () => git(nested, 'commit', '--quiet', '--allow-empty', '--message', 'second');
  assert.deepEqual(await after(directory, commit), changed('yes', 'nested/'));
});

test('measures a task folder that is the project itself', async (context) => {
  const directory = repository(context, { 'RALPH.md': '', 'src/a.ts': 'a', 'node_modules/x.js': '' });
  const before = await snapshot(directory, directory, { env: ENV });
  writeFiles(directory, { 'RALPH_PROGRESS.md': 'x', '.ralph-runner/status.json': '', '.claude/context/runtime/x': '' });
  assert.equal(compare(before, await snapshot(directory, '.', { env: ENV })).progress, 'no');
  writeFiles(directory, { 'src/a.ts': 'A' });
  assert.deepEqual(compare(before, await snapshot(directory, '', { env: ENV })), changed('yes', 'src/a.ts'));
});

test('folders above the task folder may have any name', async (context) => {
  const directory = repository(context, { 'build/tasks/one/RALPH.md': '', 'build/x': '' });
  const before = await snapshot(directory, 'build/tasks/one', { env: ENV });
  writeFiles(directory, { 'build/tasks/one/out.md': '', 'build/x': 'x' });
  const now = await snapshot(directory, 'build/tasks/one', { env: ENV });
  assert.deepEqual(compare(before, now), changed('yes', 'build/tasks/one/out.md'));
});

test('measures a repository without a commit', async (context) => {
  const directory = folderWith(context, FILES);
  git(directory, 'init', '--quiet');
  assert.deepEqual(await after(directory, () => {}), changed('no'));
  assert.deepEqual(
    await after(directory, () => writeFiles(directory, { 'src/a.ts': 'A' })),
    changed('yes', 'src/a.ts'),
  );
});
