import assert from 'node:assert/strict';
import { lstatSync, mkdirSync, readFileSync, readlinkSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isDependency, isInDependency, linkDependencies } from '../../../src/task/commands/installed-dependencies.ts';
import { emptyFolder, folderWith } from '../../support/folder.ts';

const NEVER = new AbortController().signal;

test('installed files are linked, and links within the project lead to the copy', async (t) => {
  const root = emptyFolder(t);
  const [project, copy, outside] = ['project', 'copy', 'outside'].map((name) => join(root, name)) as [
    string,
    string,
    string,
  ];
  for (const path of ['node_modules/dep', 'node_modules/.bin', 'node_modules/.cache', 'packages/core'])
    mkdirSync(join(project, path), { recursive: true });
  mkdirSync(copy);
  mkdirSync(outside);
  writeFileSync(join(project, 'node_modules/dep/index.js'), 'dep');
  writeFileSync(join(project, 'node_modules/.cache/x'), 'x');
  symlinkSync('../dep/index.js', join(project, 'node_modules/.bin/dep'));
  symlinkSync(join(project, 'packages/core'), join(project, 'node_modules/core'));
  symlinkSync('../../outside', join(project, 'node_modules/linked'));
  await linkDependencies(project, copy, 'node_modules', NEVER);
  const at = (path: string): string => join(copy, 'node_modules', path);
  assert.equal(readFileSync(at('dep/index.js'), 'utf8'), 'dep');
  assert.equal(lstatSync(at('dep/index.js')).ino, lstatSync(join(project, 'node_modules/dep/index.js')).ino);
  assert.equal(readFileSync(at('.bin/dep'), 'utf8'), 'dep');
  assert.equal(readlinkSync(at('core')), '../packages/core');
  assert.equal(readlinkSync(at('linked')), outside);
  assert.equal(lstatSync(at('.cache'), { throwIfNoEntry: false }), undefined);
});

test('linking ends when it is aborted', async (t) => {
  const root = emptyFolder(t);
  mkdirSync(join(root, 'project/node_modules'), { recursive: true });
  for (let nth = 0; nth < 600; nth++) writeFileSync(join(root, 'project/node_modules', String(nth)), '');
  const signal = AbortSignal.abort(new Error('ended'));
  await assert.rejects(linkDependencies(join(root, 'project'), join(root, 'copy'), 'node_modules', signal), /ended/);
});

test('only folders of package managers beside what names their content are dependencies, at any depth', (t) => {
  const copy = folderWith(t, {
    'packages/a/package.json': '{}',
    'pnpm/pnpm-workspace.yaml': '',
    'go.mod': '',
    'app/Podfile': '',
    'sub/.keep': '',
  });
  for (const path of [
    'packages/a/node_modules',
    'pnpm/node_modules',
    'vendor',
    'app/Pods',
    'sub/.venv',
    'venv',
    '.yarn',
    '.pnp.cjs',
  ])
    assert.ok(isDependency(copy, path), path);
  for (const path of [
    'node_modules',
    'sub/node_modules',
    'sub/vendor',
    'deps',
    'gen',
    'dist',
    'packages/a/node_modules/b',
  ])
    assert.ok(!isDependency(copy, path), path);
  assert.ok(isInDependency('packages/a/node_modules/b/cli.js'));
  assert.ok(!isInDependency('gen/out.js'));
});
