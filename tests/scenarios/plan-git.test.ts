import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { AGENT, planPlace, read, subjects, TWO, task } from '../support/plan-place.ts';
import { longTest, someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';
import { MAIN } from './support/command-agent.ts';

test("a commit that a git hook rejects does not count, and the hook's output is recorded", (t) => {
  const p = planPlace(t, TWO);
  const hook = join(p.dir, '.git', 'hooks', 'commit-msg');
  writeFileSync(hook, '#!/bin/sh\ngit diff --cached --quiet && exit\necho "no ticket in the message" >&2\nexit 1\n');
  chmodSync(hook, 0o755);
  // A start asks the hook about the messages that will come: this one judges only what is staged.
  const { code, stdout } = p.run(null);
  assert.equal(code, 3, stdout);
  assert.deepEqual(subjects(p), []);
  assert.match(read(p, 'PLAN.md'), /^- \[ \] \(blocked\) \*\*Task 1/m);
  const progress = read(p, 'PLAN.progress.md');
  assert.match(
    progress,
    /Blockers: commit: the commit-msg hook of this repository rejects .* no ticket in the message/,
  );
  assert.doesNotMatch(progress, /Status: completed/);
});

test('an agent that leaves the branch of the plan does not pass, and its work is not committed elsewhere', (t) => {
  const p = planPlace(t, TWO, `${AGENT}git switch -q -c elsewhere 2>/dev/null || true\n`);
  assert.equal(p.run(null).code, 3);
  assert.match(read(p, 'PLAN.progress.md'), /branch: the repository is on elsewhere, but this plan's branch is work/);
  assert.deepEqual(subjects(p), []);
});

test("what an agent removes, renames, stages or adds against .gitignore by git is in its task's one commit", (t) => {
  const agent = `#!/bin/sh
task=$(sed -n 's/^Current task: Task \\([0-9]*\\),.*/\\1/p' | head -1)
if [ $task = 1 ]; then git rm -q work/gone.txt; git mv work/old.txt "work/né w.txt"; echo x > work/a.log; git add -f work/a.log
else git rm -q work/a.log; git commit -q -m mine; echo y > work/b; git add work/b; rm work/b; echo z > work/c; fi
`;
  const p = planPlace(t, TWO, agent);
  mkdirSync(join(p.dir, 'work'));
  for (const name of ['gone', 'old']) writeFileSync(join(p.dir, `work/${name}.txt`), `${name}\n`);
  writeFileSync(join(p.dir, '.gitignore'), '*.log\n');
  p.git('add', '-A');
  p.git('commit', '-q', '-m', 'Files');
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.deepEqual(subjects(p).slice(1), ['feat: Task 1 - Make 1', 'feat: Task 2 - Make 2']);
  assert.deepEqual(
    p
      .git('-c', 'core.quotePath=false', 'show', '--name-status', '--no-renames', '--format=', 'HEAD~1', '--', 'work')
      .trim()
      .split('\n'),
    ['A\twork/a.log', 'D\twork/gone.txt', 'A\twork/né w.txt', 'D\twork/old.txt'],
  );
  assert.deepEqual(p.git('show', '--name-status', '--format=', 'HEAD', '--', 'work').trim().split('\n'), [
    'D\twork/a.log',
    'A\twork/c',
  ]);
  assert.equal(p.git('status', '--porcelain', '--', 'work'), '');
});

test('what an agent committed or staged outside the scope and then reverted does not fail its task', (t) => {
  const agent = `#!/bin/sh
mkdir -p work && echo x > work/1.txt
if [ ! -e .git/tried ]; then
  touch .git/tried; echo x > new.txt; echo x > kept.txt; git rm -q gone.txt; git add -A; git commit -q -m mine
  echo x > staged.txt; git add staged.txt
else rm new.txt staged.txt; echo kept > kept.txt; echo gone > gone.txt
fi
`;
  const p = planPlace(t, task(1), agent);
  for (const name of ['kept', 'gone']) writeFileSync(join(p.dir, `${name}.txt`), `${name}\n`);
  p.git('add', '-A');
  p.git('commit', '-q', '-m', 'Files');
  const { code, stdout } = p.run(null);
  assert.match(stdout, /Task 1 did not pass; it will be tried once more\.\n {2}scope: [^\n]*new\.txt/);
  assert.equal(code, 0, stdout);
  assert.deepEqual(subjects(p).slice(1), ['feat: Task 1 - Make 1']);
  assert.deepEqual(p.git('show', '--name-only', '--format=', 'HEAD').trim().split('\n'), [
    ...['PLAN.md', 'PLAN.progress.md', 'work/1.txt'],
  ]);
  assert.equal(p.git('status', '--porcelain'), '', 'nor is a trace of the loop left');
});

test('a merge that an agent left unfinished is not committed with the plan', (t) => {
  const p = planPlace(t, task(1), `${AGENT}git merge -q --no-commit --no-ff other >/dev/null 2>&1 || true\n`);
  p.git('switch', '-q', '-c', 'other');
  mkdirSync(join(p.dir, 'work'));
  writeFileSync(join(p.dir, 'work/other.txt'), 'x');
  p.git('add', '-A');
  p.git('commit', '-q', '-m', 'Other');
  p.git('switch', '-q', 'work');
  assert.equal(p.run(null).code, 0);
  assert.equal(p.git('log', '-1', '--format=%P').trim().split(' ').length, 1);
});

test('a repository in which no commit is possible is refused before an agent works', (t) => {
  const p = planPlace(t, TWO);
  p.git('config', 'user.useConfigOnly', 'true');
  p.git('config', '--unset', 'user.email');
  const { code, stderr } = p.run(null);
  assert.equal(code, 1);
  assert.match(stderr, /no author for commits here[^\n]*git config user\.name/);
});

test('a plan does not begin in a folder where another loop works', async (t) => {
  const p = planPlace(t, task(1), `${AGENT}touch ../here; while [ ! -e ../go ]; do sleep 0.1; done\n`);
  const words = [MAIN, 'run', 'PLAN.md', '--plan', '--loop', 'first', '--agent', './agent.sh'];
  const first = spawn(process.execPath, words, { cwd: p.dir, env: p.env, stdio: 'ignore' });
  const ended = once(first, 'exit');
  await until('the first one works', () => existsSync(join(p.dir, '../here')));
  const second = p.run(null);
  writeFileSync(join(p.dir, '../go'), '');
  assert.equal(second.code, 1, second.stdout);
  assert.match(
    second.stderr,
    /the loop first works in this folder, .* or wait for its end\. Or stop it: \S.* stop --loop first\./,
  );
  assert.deepEqual(await ended, [0, null]);
});

test('a lock that a killed git has left is named before an agent works, with the command that removes it', (t) => {
  const p = planPlace(t, task(1));
  const lock = join(p.dir, '.git/index.lock');
  writeFileSync(lock, '');
  utimesSync(lock, 1, 1);
  const { code, stdout, stderr } = p.run(null);
  assert.equal(code, 1, stdout);
  const [, line = ''] = /To remove its lock: (rm .*)$/m.exec(stderr) ?? [];
  execFileSync('sh', ['-c', line]);
  const after = p.run(null);
  assert.equal(after.code, 0, after.stdout + after.stderr);
});

test('a file whose change an agent hides from git is found, and one that was hidden before is left alone', (t) => {
  const hide = (flag: string, name: string): string => `echo more >> ${name} && git update-index --${flag} ${name}\n`;
  for (const flag of someOf(['assume-unchanged', 'skip-worktree'], 2)) {
    const p = planPlace(t, task(1), `${AGENT}${hide(flag, 'other.txt')}`);
    for (const name of ['own', 'other']) writeFileSync(join(p.dir, `${name}.txt`), name);
    p.git('add', '-A');
    p.git('commit', '-q', '-m', 'Files');
    p.git('update-index', `--${flag}`, 'own.txt');
    assert.equal(p.run(null).code, 3);
    assert.deepEqual(subjects(p).slice(1), []);
    assert.match(
      read(p, 'PLAN.progress.md'),
      /hidden: git is set to ignore changes to these tracked files: other\.txt\./,
    );
  }
});

test('work in a nested repository, of which a commit would contain only a link, does not pass', (t) => {
  const author = '-c user.name=a -c user.email=a@example.invalid';
  const commit = `git add -A && git ${author} commit -q -m inner`;
  const nested = `git init -q work/inner && (cd work/inner && echo x > file && ${commit} || true)\n`;
  const p = planPlace(t, task(1), `${AGENT}${nested}`);
  assert.equal(p.run(null).code, 3);
  assert.deepEqual(subjects(p), []);
  assert.match(read(p, 'PLAN.progress.md'), /repositories: separate git repositories: work\/inner\. A commit/);
});

longTest('the commit of a task moves a submodule on to what was committed in it, and holds back what was not', (t) => {
  const author = '-c user.name=a -c user.email=a@example.invalid';
  const inner = `cd work/lib && echo $task >> file && [ $task = 2 ] || git ${author} commit -q -a -m inner\n`;
  const p = planPlace(t, TWO, `${AGENT}${inner}`);
  const lib = join(p.dir, '..', 'lib');
  p.git('init', '-q', lib);
  writeFileSync(join(lib, 'file'), 'x\n');
  p.git('-C', lib, 'add', '-A');
  p.git('-C', lib, '-c', 'user.name=a', '-c', 'user.email=a@example.invalid', 'commit', '-q', '-m', 'Lib');
  p.git('-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', '../lib', 'work/lib');
  p.git('commit', '-q', '-m', 'A submodule');
  const { code, stdout } = p.run(null);
  assert.equal(code, 3, stdout);
  assert.deepEqual(subjects(p).slice(1), ['feat: Task 1 - Make 1']);
  assert.match(p.git('show', '--name-only', '--format=', 'HEAD'), /^work\/lib$/m);
  assert.match(read(p, 'PLAN.progress.md'), /submodules with uncommitted changes: work\/lib\./);
});

test('an agent that left HEAD in a rebase learns that, and passes once it is back on the branch', (t) => {
  const agent = `#!/bin/sh
cat > ../prompt; mkdir -p work
if grep -q 'on no branch' ../prompt; then git rebase --abort; echo ok > work/told; exit; fi
task=$(sed -n 's/^Current task: Task \\([0-9]*\\),.*/\\1/p' ../prompt)
echo x > work/$task.txt
git add -A; git commit -q -m mine; git rebase -q --root --exec false; true
`;
  const p = planPlace(t, task(1), agent);
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1']);
  assert.match(p.git('show', '--name-only', '--format=', 'HEAD'), /^work\/1\.txt\nwork\/told$/m);
});

longTest("what a hook formats and leaves in the tree is in its task's one commit", (t) => {
  const p = planPlace(t, TWO);
  const hook = '#!/bin/sh\nfor file in $(git diff --cached --name-only); do echo formatted >> $file; done\n';
  writeFileSync(join(p.dir, '.git/hooks/pre-commit'), hook, { mode: 0o755 });
  assert.equal(p.run(null).code, 0);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1', 'feat: Task 2 - Make 2']);
  assert.equal(p.git('status', '--porcelain', '-uno'), '');
  assert.equal(p.git('show', 'HEAD:work/2.txt'), 'done\nformatted\n');
});

test('a commit into which a hook put files outside the scope is undone', (t) => {
  const p = planPlace(t, task(1));
  const hook = '#!/bin/sh\necho x >> extra.md && git add extra.md\n';
  writeFileSync(join(p.dir, '.git/hooks/pre-commit'), hook, { mode: 0o755 });
  const { code, stdout } = p.run(null);
  assert.equal(code, 3);
  assert.match(
    stdout,
    /commit: the commit of Task 1 was undone, because a git hook added files outside its scope: extra\.md\./,
  );
  assert.deepEqual(subjects(p), []);
  assert.equal(read(p, 'work/1.txt'), 'done\n');
});

test('refuses a repository whose commits cannot be signed before an agent works', (t) => {
  const p = planPlace(t, task(1));
  const signer = join(p.dir, '..', 'signer');
  p.git('config', 'commit.gpgsign', 'true');
  p.git('config', 'gpg.program', signer);
  writeFileSync(signer, '#!/bin/sh\necho "no pinentry" >&2\nexit 2\n', { mode: 0o755 });
  const { code, stderr } = p.run(null);
  assert.equal(code, 1);
  assert.match(stderr, /git could not sign one: git commit-tree: exit code \d+\.[\s\S]*Unlock the key/);
  const signs = "cat >/dev/null\nprintf '\\n[GNUPG:] SIG_CREATED ' >&2\necho -----BEGIN PGP SIGNATURE-----";
  writeFileSync(signer, `#!/bin/sh\n${signs}\n`, { mode: 0o755 });
  const signed = p.run(null);
  assert.equal(signed.code, 0, signed.stderr + signed.stdout);
});

test('refuses a bare repository by name', (t) => {
  const p = planPlace(t, TWO);
  p.git('config', 'core.bare', 'true');
  const { code, stderr } = p.run(null);
  assert.equal(code, 1);
  assert.match(stderr, /which is not possible here: the repository has no working tree\./);
});

test('an agent that points git at a copy of the project is detected, and passes once it is undone', (t) => {
  const agent = `#!/bin/sh
if grep -q 'core.worktree'; then git config --unset core.worktree; rm evil; else
mkdir -p work && echo x > work/1.txt && cp -R . ../copy && git config core.worktree ../../copy && echo x > evil; fi
`;
  const p = planPlace(t, task(1), agent);
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1']);
  assert.match(stdout, /Task 1 did not pass/);
});

test('an agent that moved the branch back is reported, and all tasks are done in the end', (t) => {
  const undo = `if [ $task = 2 ] && [ ! -e ../undone ]; then touch ../undone; git reset -q --hard HEAD~1
mkdir -p work; echo done > work/2.txt; fi\n`;
  const p = planPlace(t, TWO, `${AGENT}${undo}`);
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.match(
    stdout,
    /the branch was moved back to before the start of Task 2 during the task, and was moved forward again/,
  );
  assert.deepEqual(p.git('ls-files', 'work').trim().split('\n'), ['work/1.txt', 'work/2.txt']);
});

test('tasks whose folder a sparse checkout leaves out are verified and committed with their files', (t) => {
  const checks = ['test -n "$(ls work/*.txt)"', 'test ! -e aside/a'].map((run) => `  - '${run}'\n`).join('');
  const tasks = [1, 2].map((id) => task(id).replace('`work`', `\`work/${id}.txt\``));
  const p = planPlace(t, `---\nvalidation:\n${checks}---\n${tasks.join('')}`);
  mkdirSync(join(p.dir, 'aside'));
  writeFileSync(join(p.dir, 'aside/a'), 'x');
  mkdirSync(join(p.dir, 'src'));
  writeFileSync(join(p.dir, 'src/a'), 'x');
  p.git('add', '-A');
  p.git('commit', '-q', '-m', 'Files');
  p.git('sparse-checkout', 'set', 'src');
  const begin = p.git('rev-parse', 'HEAD').trim();
  for (const how of [[], ['--fresh', '--parallel', '2']]) {
    const { code, stdout } = p.run(null, ...how);
    assert.equal(code, 0, stdout);
    assert.doesNotMatch(stdout, /outside the scope|does not fit/);
    assert.match(p.git('show', '--name-only', '--format=', 'HEAD'), /^work\/2\.txt$/m);
    p.git('reset', '-q', '--hard', begin);
  }
});

test('a repository that git cannot open is named, without advice to create another in it', (t) => {
  const p = planPlace(t, TWO);
  writeFileSync(join(p.dir, '.git/config'), '[');
  const { code, stderr } = p.run(null);
  assert.equal(code, 1);
  assert.match(stderr, /git does not open the repository \/.*git config --global --add safe\.directory/);
  assert.doesNotMatch(stderr, /git init/);
});

test('encodings of messages and ways to read paths that a user has set for git change no commit of a task', (t) => {
  const p = planPlace(t, task(1).replace('Make 1', 'Möbel 1'));
  p.git('config', 'i18n.commitEncoding', 'ISO-8859-1');
  p.git('config', 'i18n.logOutputEncoding', 'UTF-16');
  Object.assign(p.env, { GIT_ICASE_PATHSPECS: '1' });
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.equal(
    p.git('-c', 'i18n.logOutputEncoding=UTF-8', 'log', '-1', '--format=%s').trim(),
    'feat: Task 1 - Möbel 1',
  );
  const ralph = (...words: string[]) =>
    spawnSync(process.execPath, [MAIN, ...words], { cwd: p.dir, env: p.env, encoding: 'utf8' });
  assert.equal(ralph('report').status, 0);
  const undone = ralph('undo', '--yes');
  assert.match(undone.stdout, /^ +[0-9a-f]+ feat: Task 1 - Möbel 1$/m, undone.stderr);
});

test('a start says in the words of git why git status fails', (t) => {
  const p = planPlace(t, task(1));
  p.git('config', 'core.excludesFile', p.dir);
  const { code, stderr } = p.run(null);
  assert.equal(code, 1);
  assert.match(stderr, /not possible here: git status failed: fatal: cannot use .* as an exclude file\.$/m);
});
