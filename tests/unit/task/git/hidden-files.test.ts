import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { hiddenFiles } from '../../../../src/task/git/read-repository.ts';
import { runGit } from '../../../../src/task/git/run-git.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { initRepository } from '../../../support/git.ts';
import { ENV } from '../../../support/repository.ts';

const OPTIONS = { env: ENV, signal: new AbortController().signal };

test('finds a hidden file in a repository whose file list exceeds one answer of git', async (t) => {
  const dir = emptyFolder(t);
  const git = (args: readonly string[], input = ''): string =>
    execFileSync('git', args, { cwd: dir, env: ENV, encoding: 'utf8', input });
  initRepository(dir);
  writeFileSync(join(dir, 'there.txt'), 'x');
  writeFileSync(join(dir, 'plain.txt'), 'x');
  git(['add', '-A']);
  const blob = git(['hash-object', '-w', 'there.txt']).trim();
  const names = Array.from({ length: 45_000 }, (_, index) => `${'long/'.repeat(18)}${index}.txt`);
  git(['update-index', '--index-info'], names.map((name) => `100644 ${blob}\t${name}\n`).join(''));
  const [missing = ''] = names;
  git(['update-index', '--skip-worktree', 'there.txt', missing]);
  assert.deepEqual(await hiddenFiles(dir, OPTIONS), ['there.txt']);
  const control = await runGit(dir, ['ls-files', '-v', '-z'], { ...OPTIONS, timeMs: 30_000 });
  assert.equal(control.kind, 'output', 'control: one answer has no room for it');
});
