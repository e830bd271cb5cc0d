import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { planProject, planText } from '../support/plan-beside.ts';
import type { Project } from '../support/project.ts';
import { longTest } from '../support/short-form.ts';
import { repository, run, tree } from './support/in-worktree.ts';
import { git } from './support/side-by-side.ts';

/** Hooks in the shape of husky: a folder that git ignores, whose hooks run the committed file of the same name beside it. */
function addHusky(p: Pick<Project, 'write' | 'sh'>, check: string): void {
  p.write('.husky/pre-commit', check);
  p.write('.husky/_/.gitignore', '*\n');
  p.write('.husky/_/pre-commit', '#!/bin/sh\n. "$(dirname "$0")/h"\n', 0o755);
  p.write('.husky/_/h', 'sh -e "$(dirname "$(dirname "$0")")/$(basename "$0")" "$@" || exit 1\n');
  assert.equal(p.sh('git add -A && git commit -qm husky && git config core.hooksPath .husky/_').code, 0);
}

test('hooks in an ignored folder run for commits in a worktree, with the worktree as current folder', (t) => {
  const p = repository(t);
  p.write('do.sh', 'rm prompt.txt; echo "$W" > w; git add w; git commit -qm work; echo "<promise>DONE</promise>"\n');
  addHusky(p, 'pwd > "$HOOKED"\ntest "$(cat w)" = good\n');
  const hooked = join(p.home, 'hooked');
  const { code, stderr } = run(p, [], { W: 'bad', HOOKED: hooked });
  assert.equal(code, 0, stderr);
  assert.equal(readFileSync(hooked, 'utf8'), `${tree(p)}\n`);
  assert.match(stderr, /nothing is committed on the branch ralph\/fix\..* 1 file that is not committed \(w\)/);
  git(p, '-C .ralph/worktrees/fix reset -q --hard');
  const removed = p.ralph(['worktree', 'remove', 'fix']);
  assert.equal(removed.code, 0, `the copied hooks are no work: ${removed.stderr}`);
  assert.match(run(p, [], { W: 'good', HOOKED: hooked }).stderr, /the work is on the branch ralph\/fix \(1 commit\)/);
});

test('parallel tasks of a plan are committed only if the hooks of the main checkout pass', (t) => {
  for (const [check, code, commits] of [
    ['echo no >&2; exit 1', 3, ''],
    ['true', 0, 'feat: Task 1 - Make 1'],
  ] as const) {
    const p = planProject(t, planText([{ id: 1 }], 'true'));
    addHusky(p, `${check}\n`);
    const answer = p.run(['PLAN.md', '--plan', '--parallel', '2']);
    assert.equal(answer.code, code, answer.stdout + answer.stderr);
    assert.equal(p.git('log --format=%s -- work'), commits);
  }
});

test('hooks that could not run in a worktree are named, and parallel tasks refused', (t) => {
  const p = repository(t);
  p.write('jobs/other/RALPH.md', p.read('jobs/fix/RALPH.md'));
  p.write('.gitignore', 'node_modules/\n');
  p.write('do.sh', 'rm prompt.txt; echo "<promise>DONE</promise>"\n');
  git(p, 'add -A');
  git(p, 'commit -qm other');
  const two = ['run', 'jobs/fix', 'jobs/other', '--agent', './agent.sh'];
  git(p, 'config core.hooksPath ../hooks');
  const outside = p.ralph(two);
  assert.equal(outside.code, 1);
  assert.match(outside.stderr, /core\.hooksPath is \.\.\/hooks, which leads out of the work tree/);
  git(p, 'config --unset core.hooksPath');
  p.write('.git/hooks/pre-commit', '#!/bin/sh\ncall_lefthook() { :; }\ncall_lefthook run\n', 0o755);
  p.write('node_modules/lefthook/package.json', '{}');
  assert.match(
    p.ralph(two).stderr,
    /hooks \(pre-commit\) look for lefthook in node_modules\/lefthook .*worktree_setup/,
  );
  assert.equal(existsSync(tree(p)), false);
  assert.match(run(p).stderr, /hooks \(pre-commit\) look for lefthook/, 'a single loop says so at the start');
  const setUp = [
    '--worktree-setup',
    'mkdir -p node_modules && cp -r "$RALPH_MAIN_PROJECT/node_modules/lefthook" node_modules',
  ];
  assert.equal(p.ralph(['worktree', 'remove', 'fix']).code, 0);
  assert.doesNotMatch(run(p, setUp).stderr, /lefthook in node_modules/, 'control: a set-up installs it');
});

test('variables of git that name the checkout of the user lead no agent and no check of a worktree there', (t) => {
  const p = repository(t);
  p.write(
    'do.sh',
    'echo work > src/b.txt; git add src/b.txt; git commit -qm work -- src; echo "<promise>DONE</promise>"\n',
  );
  p.write(
    'jobs/fix/RALPH.md',
    p.read('jobs/fix/RALPH.md').replace('---\n', '---\nvalidation: ["git cat-file -e HEAD:src/b.txt"]\n'),
  );
  git(p, 'commit -qam task');
  p.write('src/a.txt', 'mine\n');
  const [head, status] = [git(p, 'rev-parse HEAD'), git(p, 'status --porcelain -- src')];
  const variables = { GIT_DIR: join(p.dir, '.git'), GIT_WORK_TREE: p.dir, GIT_INDEX_FILE: join(p.dir, '.git/index') };
  const { code, stderr } = run(p, [], variables);
  assert.equal(code, 0, stderr);
  assert.deepEqual([git(p, 'rev-parse HEAD'), git(p, 'status --porcelain -- src')], [head, status]);
  assert.equal(git(p, 'log --format=%s ralph/fix -1').trim(), 'work');
  const batch = p.ralph(['run', 'jobs/fix', '--fresh', '--parallel', '1', '--agent', './agent.sh'], variables);
  assert.equal(batch.code, 0, batch.stderr);
  assert.equal(git(p, 'rev-parse HEAD'), head, 'nor in a run of several tasks');
});

longTest('submodules are checked out without their server, and .worktreeinclude names ignored files', (t) => {
  const p = repository(t);
  p.sh(
    `mkdir ../lib && cd ../lib && git init -q -b main && git config user.name A && git config user.email a@b.c && echo 1 > f && git add f && git commit -qm one`,
  );
  p.sh('git -c protocol.file.allow=always submodule --quiet add ../lib vendor/lib');
  p.write('.gitignore', '.env\nsecret\n');
  p.write('.worktreeinclude', '# local settings\n.env\nsrc/a.txt\n');
  p.write(
    'do.sh',
    'rm prompt.txt; cat vendor/lib/f .env > seen; cd vendor/lib; git -c user.name=A -c user.email=a@b.c commit -q --allow-empty -m deep; cd ../..; rm seen.old 2>/dev/null; echo "<promise>DONE</promise>"\n',
  );
  git(p, 'add -A');
  git(p, 'commit -qm lib');
  p.write('.env', 'A=1\n');
  p.write('secret', 'no\n');
  p.write('src/a.txt', 'changed\n');
  p.sh('mv ../lib ../lib.gone');
  const { code, stderr } = run(p);
  assert.equal(code, 0, stderr);
  assert.equal(readFileSync(tree(p, 'seen'), 'utf8'), '1\nA=1\n');
  assert.match(stderr, /copied into the worktree for \.worktreeinclude: \.env\./);
  assert.equal(existsSync(tree(p, 'secret')), false);
  assert.equal(readFileSync(tree(p, 'src/a.txt'), 'utf8'), 'one\n', 'a tracked file is never copied');
  assert.match(stderr, /commits of the submodule vendor\/lib that are only there/);
  assert.equal(
    git(p, '-C .ralph/worktrees/fix/vendor/lib remote get-url origin'),
    git(p, '-C vendor/lib remote get-url origin'),
  );
});
