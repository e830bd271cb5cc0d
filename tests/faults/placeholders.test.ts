import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { removePlaceholders } from '../../src/sandbox/placeholders.ts';
import { writeRecord } from '../../src/state/files/regular-file.ts';
import { folderWith } from '../support/folder.ts';

test('a placeholder is removed once no living sandbox shows it, and a file of the user stays', async (t) => {
  const names = { 'a b/.bashrc': '', 'a b/.profile': 'x', 'a b/.zshrc': '', 'a b/.vscode': '' };
  const root = folderWith(t, names);
  const [shown, full, own, unrecorded] = Object.keys(names).map((name) => join(root, name)) as [
    string,
    string,
    string,
    string,
  ];
  const files = { projectDir: join(root, 'a b'), placeholders: join(root, 'placeholders.json') };
  writeRecord(files.placeholders, { paths: [shown, full, own] });
  for (const path of [shown, full, unrecorded]) chmodSync(path, 0o444);
  const words = ['--dev-bind', '/', '/', '--ro-bind', '/dev/null', shown, '--die-with-parent', '--'];
  const sandbox = spawn('bwrap', [...words, 'sh', '-c', 'echo shown; read -r end'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  await once(sandbox.stdout, 'data');
  removePlaceholders(files);
  assert.deepEqual([shown, full, own, unrecorded].map(existsSync), [true, true, true, true]);
  sandbox.stdin.end();
  await once(sandbox, 'exit');
  removePlaceholders(files);
  assert.deepEqual([shown, full, own, unrecorded].map(existsSync), [false, true, true, true]);
});
