import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isRegistered } from '../../../../src/drive/worktree/repository.ts';
import { emptyFolder } from '../../../support/folder.ts';

test('lists worktrees while another process creates one', (t) => {
  const dir = emptyFolder(t);
  const git = (...words: readonly string[]): unknown => execFileSync('git', words, { cwd: dir, stdio: 'pipe' });
  git('init', '-q');
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'First');
  git('worktree', 'add', '-q', 'one');
  const path = join(dir, '.git', 'worktrees', 'one', 'commondir');
  const content = readFileSync(path, 'utf8');
  writeFileSync(path, '');
  // The control: git alone refuses to list them now.
  assert.throws(() => git('worktree', 'list'), /commondir/);
  // Stands for the other process: the first git still finds the file empty, the next one does not.
  writeFileSync(join(dir, 'content'), content);
  const slow = `#!/bin/sh\nPATH=${process.env['PATH']}\ngit "$@"\ncode=$?\ncp '${join(dir, 'content')}' '${path}'\nexit $code\n`;
  mkdirSync(join(dir, 'bin'));
  writeFileSync(join(dir, 'bin', 'git'), slow, { mode: 0o755 });
  assert.equal(isRegistered(dir, join(dir, 'one'), { PATH: join(dir, 'bin') }), true);
});
