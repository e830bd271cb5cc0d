import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { spelling } from '../../../src/state/process/program.ts';
import { folderWith as folder } from '../../support/folder.ts';

const installed = (base: string): string => {
  mkdirSync(join(base, 'dist', 'scripts'), { recursive: true });
  mkdirSync(join(base, 'dist', 'hooks'));
  writeFileSync(join(base, 'dist', 'scripts', 'main.cjs'), '');
  return join(base, 'dist', 'scripts', 'main.cjs');
};

test('calls a program by its name if it was started by it or is on the PATH', (t) => {
  const base = folder(t);
  const script = installed(base);
  assert.equal(spelling({ script: '/usr/bin/ralph-loop', path: '', cwd: base }), 'ralph-loop');
  writeFileSync(join(base, 'ralph-loop'), '');
  assert.notEqual(spelling({ script, path: base, cwd: base }), 'ralph-loop', 'not executable');
  chmodSync(join(base, 'ralph-loop'), 0o755);
  assert.equal(spelling({ script, path: `/nowhere:${base}`, cwd: base }), 'ralph-loop');
});

test('calls a program that npx runs by a path that works without npx', (t) => {
  const base = folder(t);
  const bin = join(base, 'node_modules', '.bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'ralph-loop'), '', { mode: 0o755 });
  const shim = { script: join(bin, 'ralph-loop'), path: `${bin}:/nowhere`, cwd: base };
  assert.equal(spelling({ ...shim, isPackaged: true }), 'node_modules/.bin/ralph-loop');
  assert.equal(spelling(shim), 'ralph-loop');
  assert.equal(spelling({ ...shim, path: '/nowhere' }), 'node_modules/.bin/ralph-loop', 'called by its path');
  const own = { ...shim, script: installed(base) };
  assert.equal(spelling({ ...own, isPackaged: true }), 'node dist/scripts/main.cjs');
});

test('a plugin’s own bin on the PATH, as in an agent’s shell, is not taken for a program of the user', (t) => {
  const base = folder(t);
  const script = installed(base);
  const bin = join(base, 'dist', 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'ralph-loop'), '', { mode: 0o755 });
  const own = { script, path: `/nowhere:${bin}`, cwd: base };
  assert.equal(spelling(own), 'node dist/scripts/main.cjs');
  writeFileSync(join(base, 'ralph-loop'), '', { mode: 0o755 });
  assert.equal(spelling({ ...own, path: `${own.path}:${base}` }), 'ralph-loop', 'control: installed as well');
});

test('calls it elsewhere by a path that works from the current folder', (t) => {
  const base = folder(t);
  const script = installed(base);
  assert.equal(spelling({ script, path: '', cwd: base }), 'node dist/scripts/main.cjs');
  assert.equal(spelling({ script, path: '', cwd: '/' }), `node ${script.slice(1)}`);
  mkdirSync(join(base, 'beside'));
  assert.equal(spelling({ script, path: '', cwd: join(base, 'beside') }), `node ${script}`);
  const hook = join(base, 'dist', 'hooks', 'ralph-stop-hook.cjs');
  assert.equal(spelling({ script: hook, path: undefined, cwd: base }), 'node dist/scripts/main.cjs');
});
