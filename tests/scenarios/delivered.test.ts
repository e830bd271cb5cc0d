import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Project } from '../support/project.ts';
import { longTest, someOf } from '../support/short-form.ts';
import { batchEnd, git, jobs, repository, run } from './support/side-by-side.ts';

/** A repository whose tasks have these checks, and what the agent of each does (`$name`). */
function checkedTasks(t: TestContext, checks: Readonly<Record<string, string>>, work: string, files = {}): Project {
  const p = repository(t, [], work);
  for (const [name, check] of Object.entries(checks)) {
    const keys = `max_iterations: 2\ncompletion_promise: DONE\nopen_questions: optional\nvalidation: ['${check}']`;
    p.write(`jobs/${name}/RALPH.md`, `---\n${keys}\n---\nDo ${name}.\n`);
  }
  for (const [path, text] of Object.entries<string>(files)) p.write(path, text);
  git(p, 'add -A');
  git(p, 'commit -qm tasks');
  return p;
}

const MERGE = ['--parallel', '2', '--integrate', 'merge', '--json'];
const COMMIT = 'git add -A && git commit -qm "Work of $name"\n';
const dirOf = (p: Project, name: string): string => join(p.dir, '.ralph/worktrees', name);

test('commits on a detached HEAD are no part of the branch: it is not merged, and both are kept', (t) => {
  const work = `echo A > "$name.txt"; git add . ; git commit -qm one; git checkout -q --detach
echo B > "$name-main.txt"; git add . ; git commit -qm two\n`;
  const p = checkedTasks(t, { a: 'test -s a.txt && test -s a-main.txt', b: 'test -s b.txt' }, work);
  p.write('work.sh', `if [ "$name" = b ]; then echo B > b.txt; ${COMMIT} else\n${work}fi\n`);
  git(p, 'commit -qam work');
  const answer = run(p, [...jobs(['a', 'b']), ...MERGE]);
  assert.equal(answer.code, 3, answer.stdout + answer.stderr);
  const [a, b] = batchEnd(answer).tasks;
  assert.match(a?.problem ?? '', /The agent left ralph\/a: the worktree is on no branch, at [0-9a-f]{12}\./);
  assert.equal(a?.code, 3);
  assert.equal(b?.code, 0, 'control: the other one is on its branch');
  assert.equal(p.has('b.txt'), true);
  assert.equal(p.has('a.txt'), false, 'not even the half of it');
  assert.equal(existsSync(join(dirOf(p, 'a'), 'a-main.txt')), true);
  assert.equal(git(p, 'log --format=%s -1 ralph/a'), 'one');
});

test('a file that the agent moved or removed by git itself, and did not commit, is integrated as it is', (t) => {
  // A tag of the branch's name stands for the start.
  const work = `git tag "ralph/$name"; if [ "$name" = a ]; then git mv old.txt new.txt; echo more >> new.txt; else git rm -q gone.txt; fi\n`;
  const checks = { a: 'test -s new.txt && test ! -e old.txt', b: 'test ! -e gone.txt' };
  const p = checkedTasks(t, checks, work, { 'old.txt': 'old\n', 'gone.txt': 'gone\n' });
  const answer = run(p, [...jobs(['a', 'b']), ...MERGE]);
  assert.equal(answer.code, 0, answer.stdout + answer.stderr);
  assert.deepEqual([p.has('old.txt'), p.has('gone.txt'), p.read('new.txt')], [false, false, 'old\nmore\n']);
  assert.equal(git(p, 'status --porcelain -- "*.txt"'), '');
});

test('work that the pre-commit hook refuses stays uncommitted, and the message says where', (t) => {
  const p = repository(t, ['a', 'b'], 'echo "$name" > "$name.txt"\n');
  p.write('.git/hooks/pre-commit', '#!/bin/sh\necho not today >&2\nexit 1\n', 0o755);
  const { code, stdout } = run(p, [...jobs(['a', 'b']), '--integrate', 'merge']);
  assert.equal(code, 3, stdout);
  const said =
    /a: nothing was integrated\. Git refused to commit the work, which is in (\S+)\. Commit it there, then: git merge ralph\/a\n\s*not today/;
  const [, dir = ''] = said.exec(stdout) ?? [];
  assert.equal(dir, dirOf(p, 'a'), stdout);
  git(p, '-C .ralph/worktrees/a add a.txt');
  git(p, '-C .ralph/worktrees/a commit --no-verify -qm "Work of a"');
  git(p, 'merge -q ralph/a');
  assert.ok(p.has('a.txt'));
});

test('work that a hook fixes and rejects once is integrated as fixed, by a git without a terminal', (t) => {
  const p = repository(t, ['a', 'b'], 'echo "$name" > "$name.txt"\n');
  const session = 'cut -d" " -f6 /proc/$$/stat';
  const fixes = 'for file in [ab].txt; do grep -q fixed $file || { echo fixed >> $file; exit 1; }; done';
  p.write('.git/hooks/pre-commit', `#!/bin/sh\n${session} >> "$NOTES/sessions"\n${fixes}\n`, 0o755);
  const { code, stdout, stderr } = run(p, [...jobs(['a', 'b']), '--integrate', 'merge']);
  assert.equal(code, 0, stdout + stderr);
  assert.deepEqual([p.read('a.txt'), p.read('b.txt')], ['a\nfixed\n', 'b\nfixed\n']);
  // git leads a session of its own, so a program that signs or connects cannot ask and wait.
  const sessions = p.read('../notes/sessions').trim().split('\n');
  assert.equal(new Set(sessions).size, sessions.length, 'each call of git has another one');
  assert.equal(git(p, 'status --porcelain'), '', 'the record of the run is hidden as well');
});

test('a check that needs an ignored file of the worktree does not pass on the branch', (t) => {
  const work = `mkdir -p out; echo A > out/$name.csv; echo A > "$name.txt"; ${COMMIT}`;
  const checks = { a: 'echo PGPASSWORD=correct-horse-7; test -s out/a.csv', b: 'test -s b.txt' };
  const p = checkedTasks(t, checks, work, { '.gitignore': 'out/\n' });
  const answer = run(p, [...jobs(['a', 'b']), ...MERGE]);
  assert.equal(answer.code, 3, answer.stdout + answer.stderr);
  const [a, b] = batchEnd(answer).tasks;
  assert.match(
    a?.problem ?? '',
    /checks do not pass on a clean checkout of [0-9a-f]{12}: a: [^\n]*: exit code 1\. If they need more .*worktree_copy.*out\/a\.csv/s,
  );
  assert.doesNotMatch(answer.stdout + answer.stderr, /correct-horse/, 'the output of the check is masked');
  assert.equal(existsSync(join(dirOf(p, 'a'), 'out/a.csv')), true);
  assert.equal(b?.code, 0);
  assert.match(
    answer.stdout,
    /b: merged ralph\/b into main\. Its worktree stays: .* 1 file that git ignores \(out\/b\.csv\)/,
  );
  assert.equal(existsSync(join(dirOf(p, 'b'), 'out/b.csv')), true, 'merged, and kept with what it holds beside');
  const loss = p.ralph(['worktree', 'remove', 'b']);
  assert.equal(loss.code, 1);
  assert.match(loss.stderr, /would lose: 1 file that git ignores \(out\/b\.csv\)/);
});

test('a proof beside a committed task holds no worktree back, and list does not call it unstarted', (t) => {
  const p = repository(t, [], 'echo "$name" > "$name.txt"; [ "$name" = a ] || echo more > .ralph/b/notes.md\n');
  const tasks = ['a', 'b'].map((name) => `.ralph/${name}`);
  for (const task of tasks)
    p.write(
      `${task}/RALPH.md`,
      `---\ncompletion_promise: DONE\nopen_questions: optional\nvalidation: ['test -s ${task.slice(-1)}.txt']\n---\nDo it.\n`,
    );
  git(p, 'add -A --force');
  git(p, 'commit -qm tasks');
  const { code, stdout, stderr } = run(p, [...tasks, '--parallel', '2', '--integrate', 'merge']);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout, /a: merged ralph\/a into main\.$/m);
  assert.match(stdout, /Its worktree stays: .* 1 file that is not committed \(\.ralph\/b\/notes\.md\)/, 'control');
  const kept = p.sh('ls .claude/context/runtime/worktrees/a-*/.ralph/a/proof.json');
  assert.equal(kept.code, 0, kept.stderr);
  assert.doesNotMatch(p.ralph(['list']).stdout, /not started/);
});

longTest('a branch that links to paths of this folder is not merged, and one with relative links is', (t) => {
  const work = `mkdir -p "$MAIN/ignored"; echo A > "$MAIN/ignored/a"; echo "$name" > "$name.txt"
case "$name" in a) ln -s "$MAIN/ignored/a" link-a;; b) ln -s b.txt link-b;; esac\n${COMMIT}`;
  const checks = { a: 'grep -q A link-a', b: 'test -s link-b' };
  const p = checkedTasks(t, checks, work.replaceAll('$MAIN', '${PWD%%/.ralph/*}'), { '.gitignore': 'ignored/\n' });
  const answer = run(p, [...jobs(['a', 'b']), ...MERGE]);
  assert.equal(answer.code, 3, answer.stdout + answer.stderr);
  const [a, b] = batchEnd(answer).tasks;
  assert.match(
    a?.problem ?? '',
    /nothing was integrated, because it links to paths that only this folder has: link-a\./,
  );
  assert.deepEqual([p.has('a.txt'), p.has('link-b')], [false, true]);
  assert.equal(b?.code, 0, 'control');
});

/** The one renames a function, the other calls it: each passes alone. */
const APART = {
  files: {
    'lib.sh': 'add() { echo $(($1 + $2)); }\n',
    'check.sh': 'for test in t-*.sh; do sh -eu "$test" || exit 1; done\n',
  },
  work: `if [ "$name" = a ]; then sed -i 's/^add/plus/' lib.sh; echo '. ./lib.sh; plus 1 1' > t-a.sh
elif [ "$name" = b ]; then echo '. ./lib.sh; add 1 1' > t-b.sh
else echo true > t-$name.sh; fi
${COMMIT}`,
};

for (const how of someOf(['merge', 'rebase'], 2, 1)) {
  test(`work that fails only together is undone (${how}), and a later task is integrated without it`, (t) => {
    const checks = { a: 'sh check.sh', b: 'sh check.sh', c: 'sh check.sh' };
    const p = checkedTasks(t, checks, APART.work, { ...APART.files, 't-0.sh': 'true\n' });
    const answer = run(p, [...jobs(['a', 'b', 'c']), '--parallel', '2', '--integrate', how, '--json']);
    assert.equal(answer.code, 3, answer.stdout + answer.stderr);
    const end = batchEnd(answer);
    assert.deepEqual(
      end.tasks.map(({ loop, status, code }) => [loop, status, code]),
      [
        ['a', 'complete', 0],
        ['b', 'complete', 3],
        ['c', 'complete', 0],
      ],
    );
    const [, b] = end.tasks;
    assert.match(
      b?.problem ?? '',
      /b: the merge of ralph\/b was undone, because checks fail on the result: b: sh check\.sh: exit code 1[^\n]*\. The branch.*add: not found/s,
    );
    assert.deepEqual([p.has('t-a.sh'), p.has('t-b.sh'), p.has('t-c.sh')], [true, false, true]);
    assert.equal(p.sh('sh check.sh').code, 0, 'what is delivered passes');
    assert.equal(git(p, 'log --format=%s -1 ralph/b'), 'Work of b');
    assert.equal(git(p, 'status --short -- . :!.claude'), '');
    assert.equal(git(p, 'worktree list').split('\n').length, 2, 'the checkout for the checks is gone');
    git(p, 'merge -q ralph/b');
    assert.notEqual(p.sh('sh check.sh').code, 0, 'control: a bare merge is red');
  });
}
