import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { appendFileSync, chmodSync, existsSync, mkdirSync, symlinkSync, truncateSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { markFolder } from '../../../src/task/progress/marks.ts';
import { compare, snapshot } from '../../../src/task/progress/snapshot.ts';
import { folderWith, writeFiles } from '../../support/folder.ts';
import { after, changed, ENV, look, PATIENT, repository, TASK } from '../../support/repository.ts';

test('without git only the task folder is measured', async (context) => {
  const directory = repository(context);
  const { progress, bounded } = await after(directory, () => {}, { env: { PATH: join(directory, 'src') } });
  assert.deepEqual([progress, bounded], ['unknown', ['git-missing']]);
});

test('a git that takes too long is ended, and the result is unknown', async (context) => {
  const directory = repository(context);
  writeFiles(directory, { 'bin/git.sh': '#!/bin/sh\necho $$ > "$PIDS"; exec sleep 300\n' });
  symlinkSync('git.sh', join(directory, 'bin/git'));
  const pids = join(directory, 'tasks/one/.ralph-runner.pid');
  const env = { PATH: `${join(directory, 'bin')}:${process.env['PATH']}`, PIDS: pids };
  // Until there was time enough to start it.
  for (let timeMs = 300; timeMs < 60_000 && !existsSync(pids); timeMs *= 3) {
    const found = await look(directory, { env, gitLimits: { ...PATIENT.gitLimits, timeMs } });
    assert.equal(found.gitLimit, 'git-time');
  }
  assert.equal(existsSync(pids), true, 'control: it was started');
});

test('an abort ends the measurement with its reason', async (context) => {
  const directory = repository(context);
  await assert.rejects(look(directory, { signal: AbortSignal.abort(new Error('told to go')) }), /told to go/);
});

test('beyond the bounds an observed change is progress, and otherwise the result is unknown', async (context) => {
  const directory = repository(context);
  for (let n = 0; n < 30; n++) writeFiles(directory, { [`tasks/one/a${String(n).padStart(2, '0')}.md`]: 'x' });
  const folderLimits = { ...PATIENT.folderLimits, entries: 10 };
  // What git sees of the folder is not asked for here.
  const more = { folderLimits, gitLimits: { ...PATIENT.gitLimits, files: 5 } };
  const unseen = () => writeFiles(directory, { 'tasks/one/a29.md': 'y' });
  assert.deepEqual(await after(directory, unseen, more), {
    ...changed('unknown'),
    bounded: ['git-files', 'task-files'],
  });
  const seen = () => writeFiles(directory, { 'tasks/one/a01.md': 'y' });
  assert.deepEqual(await after(directory, seen, more), {
    ...changed('yes', 'tasks/one/a01.md'),
    bounded: ['git-files', 'task-files'],
  });
  const pushedOut = () => writeFiles(directory, { 'tasks/one/a000.md': 'new' });
  const { changedFiles } = await after(directory, pushedOut, more);
  assert.deepEqual(changedFiles, [], 'a file that a bound may have cut is not called changed');
});

test('reads a small folder completely however late it is, and the beginning of a large one', (context) => {
  const names = Array.from({ length: 101 }, (_, n) => `tasks/one/a${1000 + n}.md`);
  const directory = folderWith(context, Object.fromEntries(names.slice(1).map((name) => [name, ''])));
  const late = (): ReturnType<typeof markFolder> =>
    markFolder(directory, TASK, { ...PATIENT.folderLimits, timeMs: -1 });
  assert.deepEqual([late().complete, Object.keys(late().files)], [true, names.slice(1)]);
  writeFiles(directory, { [names[0] ?? '']: '' });
  assert.deepEqual([late().limits, Object.keys(late().files)], [['task-time'], names.slice(0, 100)]);
});

test('compares what is not read by size and time', async (context) => {
  const directory = repository(context);
  writeFiles(directory, { 'tasks/one/large.bin': '', 'tasks/one/small.md': 'one' });
  truncateSync(join(directory, 'tasks/one/large.bin'), 6 * 1024 * 1024);
  const large = () => utimesSync(join(directory, 'tasks/one/large.bin'), 5, 5);
  assert.deepEqual(await after(directory, large), changed('yes', 'tasks/one/large.bin'));
  const poor = { folderLimits: { ...PATIENT.folderLimits, bytes: 0 }, gitLimits: { ...PATIENT.gitLimits, read: 0 } };
  const small = () => writeFiles(directory, { 'tasks/one/small.md': 'other' });
  const { progress, changedFiles, bounded } = await after(directory, small, poor);
  assert.deepEqual([progress, changedFiles, bounded], ['yes', ['tasks/one/small.md'], ['git-bytes', 'task-bytes']]);
});

test('does not follow links and is not blocked by a FIFO', async (context) => {
  const directory = repository(context);
  const outside = folderWith(context, { 'x.md': 'x' });
  symlinkSync(outside, join(directory, 'tasks/one/out'));
  symlinkSync(join(outside, 'x.md'), join(directory, 'tasks/one/x.md'));
  execFileSync('mkfifo', [join(directory, 'tasks/one/pipe'), join(directory, 'src/pipe')]);
  mkdirSync(join(directory, 'src/nested'));
  execFileSync('mkfifo', [join(directory, 'src/nested/.git')]);
  assert.deepEqual(await after(directory, () => appendFileSync(join(outside, 'x.md'), 'more')), changed('no'));
});

test('does not measure a task folder that links out of the project', async (context) => {
  const directory = folderWith(context);
  const outside = folderWith(context, { 'RALPH.md': '' });
  mkdirSync(join(directory, 'tasks'));
  symlinkSync(outside, join(directory, TASK));
  const { task } = await look(directory);
  assert.deepEqual(task, { files: {}, complete: false, limits: ['task-outside'] });
});

/** Root reads everything. It has to become another one, whom a namespace of users may not know. */
function isReadByNobody(directory: string): boolean {
  if (process.getuid?.() !== 0) return true;
  try {
    process.seteuid?.(65534);
    return existsSync(join(directory, TASK));
  } catch {
    return false;
  } finally {
    process.seteuid?.(0);
  }
}

test('an unreadable part leaves the result open', (context) => {
  const directory = folderWith(context, {
    'tasks/one/RALPH.md': '',
    'tasks/one/secret.md': 'x',
    'tasks/one/closed/a': '',
  });
  const asNobody = (): ReturnType<typeof markFolder> => {
    const look = () => markFolder(directory, TASK, PATIENT.folderLimits);
    if (process.getuid?.() !== 0) return look();
    process.seteuid?.(65534);
    try {
      return look();
    } finally {
      process.seteuid?.(0);
    }
  };
  chmodSync(directory, 0o755);
  if (!isReadByNobody(directory)) return context.skip('root can be nobody else here, or nobody else may come here');
  assert.equal(asNobody().complete, true, 'control: all of it can be read');
  chmodSync(join(directory, 'tasks/one/secret.md'), 0);
  const { files, complete, limits } = asNobody();
  assert.deepEqual(
    [Object.keys(files), complete, limits],
    [['tasks/one/RALPH.md', 'tasks/one/closed/a'], false, ['task-unreadable']],
  );
  chmodSync(join(directory, 'tasks/one/secret.md'), 0o644);
  chmodSync(join(directory, 'tasks/one/closed'), 0);
  assert.deepEqual(asNobody().limits, ['task-unreadable']);
  chmodSync(join(directory, 'tasks/one/closed'), 0o755);
});

test('names at most 200 changed files', async (context) => {
  const directory = repository(context);
  const many = () =>
    writeFiles(directory, Object.fromEntries(Array.from({ length: 250 }, (_, n) => [`src/n${n}.ts`, ''])));
  const { progress, changedFiles, bounded } = await after(directory, many);
  assert.deepEqual([progress, changedFiles.length, bounded], ['yes', 200, ['changed-files']]);
});

test('a snapshot of another task folder proves nothing', async (context) => {
  const directory = repository(context);
  const before = await look(directory);
  assert.equal(compare(before, await snapshot(directory, 'tasks/two', { env: ENV, ...PATIENT })).progress, 'unknown');
});
