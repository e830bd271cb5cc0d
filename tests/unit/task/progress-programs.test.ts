import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeFiles } from '../../support/folder.ts';
import { after, changed, ENV, FILES, git, look, repository } from '../../support/repository.ts';

const PROGRAMS: readonly (readonly [key: string, attributes: string])[] = [
  ['core.fsmonitor', ''],
  ['core.hooksPath', ''],
  ['filter.evil.clean', '*.ts filter=evil\n'],
  ['filter.evil.process', '*.ts filter=evil\n'],
  ['filter.a=b.clean', '*.ts filter=a=b\n'],
];

for (const [key, attributes] of PROGRAMS) {
  test(`starts no program that the repository names and writes nothing: ${key}`, async (context) => {
    const directory = repository(context, { ...FILES, '.gitattributes': attributes });
    const ran = join(directory, 'tasks/one/.ralph-runner.ran');
    const hooks = join(directory, 'hooks');
    writeFiles(directory, { 'hooks/hook.sh': `#!/bin/sh\ntouch '${ran}'\n` });
    symlinkSync('hook.sh', join(hooks, 'post-index-change'));
    git(directory, 'config', key, key === 'core.hooksPath' ? hooks : `touch '${ran}'; cat`);
    // Of the same size and another time: git has to read it to know.
    utimesSync(join(directory, 'src/a.ts'), 5, 5);
    const index = readFileSync(join(directory, '.git/index'));
    const { git: state } = await look(directory);
    assert.deepEqual(Object.keys(state?.tree.files ?? {}), ['hooks/hook.sh', 'hooks/post-index-change']);
    assert.equal(existsSync(ran), false);
    assert.deepEqual(readFileSync(join(directory, '.git/index')), index);
    spawnSync('git', ['status'], { cwd: directory, env: ENV });
    assert.equal(existsSync(ran), true, 'control: a plain git status starts it');
  });
}

test('measures a submodule by its commits, and its own configuration starts nothing', async (context) => {
  const library = repository(context, { 'x.ts': 'x' });
  const directory = repository(context);
  git(directory, 'submodule', '--quiet', 'add', library, 'lib');
  git(directory, 'commit', '--quiet', '--message', 'with a library');
  const lib = join(directory, 'lib');
  for (const message of ['second', 'third']) {
    const commit = () => git(lib, 'commit', '--quiet', '--allow-empty', '--message', message);
    assert.deepEqual(await after(directory, commit), changed('yes', 'lib'), message);
  }
  const ran = join(directory, 'tasks/one/ran');
  git(lib, 'config', 'core.fsmonitor', `touch '${ran}'; cat`);
  await look(directory);
  assert.equal(existsSync(ran), false);
  spawnSync('git', ['status'], { cwd: directory, env: ENV });
  assert.equal(existsSync(ran), true, 'control: a plain git status starts it');
});

test('a stored HEAD is never taken for an option of git', async (context) => {
  const directory = repository(context);
  const before = await look(directory);
  const written = join(directory, 'written');
  const forged = before.git && { ...before, git: { ...before.git, head: `--output=${written}` } };
  const now = await look(directory, { since: forged });
  assert.deepEqual([now.git?.committed, existsSync(written)], [null, false]);
});

test('trusts a program that only the user configures', async (context) => {
  const directory = repository(context, { ...FILES, '.gitattributes': '*.ts filter=mine\n' });
  const config = join(directory, 'src/config');
  writeFileSync(config, '[filter "mine"]\n\tclean = "sed s/A/a/"\n');
  const env = { ...ENV, GIT_CONFIG_GLOBAL: config };
  assert.deepEqual(await after(directory, () => writeFiles(directory, { 'src/a.ts': 'A\n' }), { env }), changed('no'));
  assert.equal((await after(directory, () => writeFiles(directory, { 'src/a.ts': 'B\n' }), { env })).progress, 'yes');
});

test('git variables in the environment redirect nothing', async (context) => {
  const directory = repository(context);
  const other = repository(context);
  const env = { ...ENV, GIT_DIR: join(other, '.git'), GIT_WORK_TREE: other, GIT_INDEX_FILE: join(other, '.git/index') };
  assert.deepEqual(
    await after(directory, () => writeFiles(directory, { 'src/a.ts': 'A' }), { env }),
    changed('yes', 'src/a.ts'),
  );
});
