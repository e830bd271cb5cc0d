import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { syncDirectory, writeAtomically } from '../../../src/state/files/regular-file.ts';
import { aProject } from './a-loop.ts';

test('Writes every byte and leaves no draft beside the file.', (t) => {
  const { state, runtimeDir } = aProject(t);
  for (const content of ['', 'one\n', 'ü\u2028\u{1f600}\0end', 'x'.repeat(3_000_000)]) {
    writeAtomically(state, content);
    assert.equal(readFileSync(state, 'utf8'), content);
  }
  assert.deepEqual(readdirSync(runtimeDir), ['ralph-state.json']);
});

test('A reader that opened the old file continues to read the old content.', (t) => {
  const { state } = aProject(t);
  writeAtomically(state, 'old');
  const before = statSync(state).ino;
  writeAtomically(state, 'new');
  assert.notEqual(statSync(state).ino, before);
});

test('A file is readable by its owner only, unless it is to keep other permissions.', (t) => {
  const { state, contract, outsideDir } = aProject(t);
  mkdirSync(outsideDir, { recursive: true });
  const umask = process.umask(0o022);
  try {
    writeAtomically(contract, '');
    writeAtomically(state, '', 0o644);
    writeAtomically(contract, '');
  } finally {
    process.umask(umask);
  }
  assert.deepEqual([statSync(contract).mode & 0o777, statSync(state).mode & 0o777], [0o600, 0o644]);
});

test('What cannot be replaced stays unchanged, the error is thrown, and no draft is left.', (t) => {
  const { runtimeDir } = aProject(t);
  const folder = join(runtimeDir, 'folder');
  mkdirSync(join(folder, 'full'), { recursive: true });
  assert.throws(() => writeAtomically(folder, 'new'), { code: 'EISDIR' });
  assert.throws(() => writeAtomically(join(runtimeDir, 'absent', 'file'), 'new'), { code: 'ENOENT' });
  assert.deepEqual(readdirSync(runtimeDir), ['folder']);
  assert.deepEqual(readdirSync(folder), ['full']);
});

test('Replaces a link in the place of the file and leaves its target alone.', (t) => {
  const { state, runtimeDir } = aProject(t);
  const target = join(runtimeDir, 'target');
  writeFileSync(target, 'mine');
  symlinkSync(target, state);
  writeAtomically(state, 'new');
  assert.deepEqual([readFileSync(target, 'utf8'), readFileSync(state, 'utf8')], ['mine', 'new']);
});

test('A folder that is writable but not readable does not fail a completed write.', (t) => {
  const { state, runtimeDir } = aProject(t);
  chmodSync(runtimeDir, 0o300);
  try {
    writeAtomically(state, 'new');
    assert.equal(readFileSync(state, 'utf8'), 'new');
  } finally {
    chmodSync(runtimeDir, 0o700);
  }
});

test('A missing folder cannot be made durable, which is reported.', (t) => {
  assert.throws(() => syncDirectory(join(aProject(t).runtimeDir, 'absent')), { code: 'ENOENT' });
});
