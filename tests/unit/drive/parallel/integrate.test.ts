import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { integrate } from '../../../../src/drive/parallel/integrate.ts';
import { makeWorktree } from '../../../../src/drive/worktree/make-worktree.ts';
import { readWorktreeRecord, writeWorktreeRecord } from '../../../../src/drive/worktree/worktree-place.ts';
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
  const again = (path = env.PATH) =>
    integrate({ projectDir, name: 'one', how: 'merge', report: '', env: { ...env, PATH: path } });
  return { projectDir, base, env, place, git, again };
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

/** The moment at which `git worktree remove` has deleted a part of the files. */
function halfRemoved(t: TestContext, step: 'ready' | 'removing') {
  const made = worktree(t, true);
  made.git('merge', '-q', '--no-edit', 'ralph/one');
  rmSync(join(made.place.dir, 'made.txt'));
  const base = made.git('rev-parse', 'HEAD~1');
  writeWorktreeRecord(made.projectDir, 'one', made.env, { step, base, hadBranch: false });
  return made;
}

test('files that a killed removal deleted are not taken for deletions by the agent', (t) => {
  const { projectDir, place, git, again } = halfRemoved(t, 'removing');
  assert.deepEqual(again(), { message: 'one: its work was already integrated or removed.', outcome: 'done' });
  assert.equal(existsSync(join(projectDir, 'made.txt')), true);
  assert.equal(existsSync(place.dir), false);
  assert.equal(git('branch', '--list', 'ralph/*'), '');
});

test('control: without the note of the removal they are', (t) => {
  const { projectDir, again } = halfRemoved(t, 'ready');
  assert.equal(again().outcome, 'done');
  assert.equal(existsSync(join(projectDir, 'made.txt')), false);
});

test('a worktree that is half removed makes room for a new one', (t) => {
  const { projectDir, env, place, git } = halfRemoved(t, 'removing');
  const head = git('rev-parse', 'HEAD');
  makeWorktree({ projectDir, name: 'one', taskPath: null, existing: 'refuse', env });
  assert.equal(readFileSync(join(place.dir, 'made.txt'), 'utf8'), 'made\n');
  assert.equal(readWorktreeRecord(projectDir, 'one', env)?.base, head);
});

test('a removal is noted before git deletes the first file', (t) => {
  const { projectDir, base, env, again } = worktree(t, true);
  const bin = join(base, 'bin');
  mkdirSync(bin);
  const real = execFileSync('sh', ['-c', 'command -v git'], { encoding: 'utf8' }).trim();
  const record = join(base, 'at-removal');
  const note = `find "$XDG_STATE_HOME" -name 'worktree.one.json' -exec cp {} '${record}' \\;`;
  const script = `#!/bin/sh\ncase "$*" in *"worktree remove"*) ${note} ;; esac\nexec '${real}' "$@"\n`;
  writeFileSync(join(bin, 'git'), script, { mode: 0o755 });
  assert.equal(again(`${bin}:${env.PATH}`).outcome, 'done');
  assert.equal((JSON.parse(readFileSync(record, 'utf8')) as { step: string }).step, 'removing');
  assert.equal(readWorktreeRecord(projectDir, 'one', env), null);
});

test('work that a silent hook refuses to commit stays in its worktree, and the message names the command', (t) => {
  const { base, place, git, again } = worktree(t, false);
  writeFileSync(join(place.dir, 'made.txt'), 'made\n');
  writeFileSync(join(base, 'pre-commit'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
  git('config', 'core.hooksPath', base);
  const { message, outcome } = again();
  assert.equal(outcome, 'failed');
  assert.match(message, /^one: .*ralph\/one, .*not integrated: git commit ended with exit code 1 and no message/);
  assert.ok(existsSync(join(place.dir, 'made.txt')));
});

test('a merge that cannot be signed is taken back and reported as that, not as a conflict', (t) => {
  const { projectDir, base, git, again } = worktree(t, true);
  writeFileSync(join(projectDir, 'other.txt'), 'other\n');
  git('add', 'other.txt');
  git('commit', '-q', '-m', 'Another');
  const head = git('rev-parse', 'HEAD');
  writeFileSync(join(base, 'gpg'), '#!/bin/sh\necho no key >&2\nexit 1\n', { mode: 0o755 });
  git('config', 'gpg.program', join(base, 'gpg'));
  git('config', 'commit.gpgsign', 'true');
  const { message, outcome } = again();
  assert.equal(outcome, 'failed');
  assert.match(message, /not integrated: .*failed to sign/s);
  assert.equal(git('rev-parse', 'HEAD'), head);
  assert.equal(git('status', '--porcelain', '--', 'made.txt'), '');
});

test('a branch is merged with a commit although merge.ff allows none', (t) => {
  const { projectDir, git, again } = worktree(t, true);
  writeFileSync(join(projectDir, 'other.txt'), 'other\n');
  git('add', 'other.txt');
  git('commit', '-q', '-m', 'Another');
  git('config', 'merge.ff', 'only');
  const { message, outcome } = again();
  assert.equal(outcome, 'done', message);
  assert.ok(existsSync(join(projectDir, 'made.txt')));
});
