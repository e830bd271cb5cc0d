import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { makeWorktree } from '../../../../src/drive/worktree/make-worktree.ts';
import { isRegistered } from '../../../../src/drive/worktree/repository.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { commitFolder } from '../../../support/git.ts';

test('lists worktrees while another process creates one', (t) => {
  const dir = emptyFolder(t);
  const git = commitFolder(dir);
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

test('a worktree is made where git has made its branch and then met another process', (t) => {
  const base = emptyFolder(t);
  const dir = join(base, 'project');
  mkdirSync(dir);
  const git = commitFolder(dir);
  // Stands for the other process: the first "git worktree add" makes the branch, and then fails as git does.
  const meets = `#!/bin/sh
PATH=${process.env['PATH']}
if [ "$1 $2" = "worktree add" ] && [ ! -e '${join(base, 'met')}' ]; then
  touch '${join(base, 'met')}'
  git branch ralph/one
  echo "fatal: failed to read .git/worktrees/two/commondir: Success" >&2
  exit 128
fi
exec git "$@"
`;
  mkdirSync(join(base, 'bin'));
  writeFileSync(join(base, 'bin', 'git'), meets, { mode: 0o755 });
  const env = { PATH: join(base, 'bin'), HOME: base, XDG_STATE_HOME: join(base, 'state') };
  const { place } = makeWorktree({ projectDir: dir, name: 'one', taskPath: null, existing: 'refuse', env });
  assert.equal(existsSync(join(base, 'met')), true, 'control: git was met');
  assert.equal(git('-C', place.dir, 'branch', '--show-current').trim(), 'ralph/one');
});
