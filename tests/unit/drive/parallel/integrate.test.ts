import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { integrate } from '../../../../src/drive/parallel/integrate.ts';
import { makeWorktree } from '../../../../src/drive/worktree/make-worktree.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { repository } from '../../../support/repository.ts';

const WHO = { name: 'test', email: 'test@localhost' };

/** A project with a worktree of the loop `one`, with or without a commit. */
function worktree(t: TestContext, commits: boolean) {
  const projectDir = repository(t);
  const base = emptyFolder(t);
  const author = { GIT_AUTHOR_NAME: WHO.name, GIT_AUTHOR_EMAIL: WHO.email };
  const committer = { GIT_COMMITTER_NAME: WHO.name, GIT_COMMITTER_EMAIL: WHO.email };
  const env = { PATH: process.env['PATH'], HOME: base, XDG_STATE_HOME: join(base, 'state'), ...author, ...committer };
  const { place } = makeWorktree({ projectDir, name: 'one', taskPath: null, existing: 'refuse', env });
  const git = (...words: readonly string[]): string =>
    execFileSync('git', words, { cwd: projectDir, env, encoding: 'utf8', stdio: 'pipe' }).trim();
  if (commits) {
    writeFileSync(join(place.dir, 'made.txt'), 'made\n');
    git('-C', place.dir, 'add', 'made.txt');
    git('-C', place.dir, 'commit', '-q', '-m', 'Make it');
  }
  return { projectDir, place, git, again: () => integrate({ projectDir, name: 'one', how: 'merge', report: '', env }) };
}

/** What a process has done that was killed after the merge, before it noted that. */
const KILLED: readonly (readonly [string, readonly (readonly string[])[]])[] = [
  ['after the merge', []],
  ['after the worktree was removed', [['worktree', 'remove', '--force', '.ralph/worktrees/one']]],
  [
    'after the branch was removed',
    [
      ['worktree', 'remove', '--force', '.ralph/worktrees/one'],
      ['branch', '-D', 'ralph/one'],
    ],
  ],
];

for (const [when, steps] of KILLED) {
  test(`an integration that was killed ${when} is finished by the next one`, (t) => {
    const { place, git, again } = worktree(t, true);
    git('merge', '-q', '--no-edit', 'ralph/one');
    for (const words of steps) git(...words);
    const head = git('rev-parse', 'HEAD');
    assert.deepEqual(again(), { message: 'one: its work was already integrated or removed.', outcome: 'done' });
    assert.equal(existsSync(place.dir), false);
    assert.equal(git('branch', '--list', 'ralph/*'), '');
    assert.equal(git('rev-parse', 'HEAD'), head);
  });
}

test('a branch without commits is left with its worktree', (t) => {
  const { place, git, again } = worktree(t, false);
  assert.deepEqual(again(), { message: 'one: there are no changes to integrate.', outcome: 'done' });
  assert.equal(existsSync(place.dir), true);
  assert.equal(git('branch', '--list', 'ralph/*'), '+ ralph/one');
});
