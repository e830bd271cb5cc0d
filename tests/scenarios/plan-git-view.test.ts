import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AGENT, type PlanPlace, planPlace, read, subjects, task } from '../support/plan-place.ts';
import { someOf } from '../support/short-form.ts';
import { inPerson } from '../support/terminal/in-person.ts';

/** Hides a change outside the scope from git, and plants a hook that says when it ran. */
const HIDE =
  'echo x > new.ts; echo new.ts >> .git/info/exclude; printf "#!/bin/sh\\ntouch .git/hook-ran\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit';

/** What an agent's program does to the loop's view of the repository: [what, shell text in its folder, file]. */
const DAMAGE: readonly (readonly [what: string, shell: string, names: RegExp])[] = [
  ['deletes the folder', 'rm -rf contract.json.git', /contract\.json\.git\/[^ ]* is missing/],
  ['deletes the record', 'rm git-view.json', /git-view\.json is missing/],
  [
    'ignores the file in the folder',
    'for at in contract.json.git/*; do echo new.ts >> $at/info/exclude; done',
    /exclude was changed by another program/,
  ],
];

/** Runs a plan of one task whose agent works, hides a change, and does this in the loop's folder outside the project. */
function place(context: TestContext, shell: string): PlanPlace {
  const outside = `project=$PWD; cd "$XDG_STATE_HOME"/ralph-loop/project-*; ${shell}; cd "$project"`;
  return planPlace(context, task(1), `${AGENT}${HIDE}\n${outside}\n`);
}

for (const [what, shell, names] of someOf(DAMAGE, 3)) {
  test(`pauses a plan whose agent ${what}, names it, and runs no planted hook`, (t) => {
    const p = place(t, shell);
    const { code, stdout } = p.run(null);
    assert.equal(code, 3, stdout);
    assert.match(stdout, /Evidence of this loop is lost: /);
    assert.match(stdout, names);
    assert.deepEqual(subjects(p), []);
    assert.ok(!existsSync(join(p.dir, '.git/hook-ran')), 'the planted hook did not run');
  });
}

test('control: the hidden change blocks a plan whose view of the repository is whole', (t) => {
  const p = place(t, 'true');
  const { code, stdout } = p.run(null);
  assert.equal(code, 3, stdout);
  assert.doesNotMatch(stdout, /Evidence of this loop is lost/);
  assert.match(read(p, 'PLAN.progress.md'), /scope: outside the scope of Task 1: new\.ts\./);
  assert.ok(!existsSync(join(p.dir, '.git/hook-ran')));
});

test('an index of the view that another program wrote is not believed, and read anew', (t) => {
  const hidden =
    'cd contract.json.git/*/; GIT_DIR=$PWD GIT_WORK_TREE="$project" git update-index --assume-unchanged other.txt; cd ..';
  const agent = `${AGENT}echo more >> other.txt\nproject=$PWD; cd "$XDG_STATE_HOME"/ralph-loop/project-*; ${hidden}; cd "$project"; git update-index --assume-unchanged other.txt\n`;
  const p = planPlace(t, task(1), agent);
  writeFileSync(join(p.dir, 'other.txt'), 'kept\n');
  p.git('add', '-A');
  p.git('commit', '-q', '-m', 'Files');
  const { code, stdout } = p.run(null);
  assert.equal(code, 3, stdout);
  assert.match(read(p, 'PLAN.progress.md'), /scope: outside the scope of Task 1: other\.txt/);
});

test('a resume takes a new view only after a person agreed, says so, and completes the plan', (t) => {
  const agent = `${AGENT}[ -e ../broken ] || { touch ../broken; rm -rf "$XDG_STATE_HOME"/ralph-loop/project-*/contract.json.git; }\n`;
  const p = planPlace(t, task(1), agent);
  assert.equal(p.run(null).code, 3);
  const refused = p.run(null, '--resume');
  assert.notEqual(refused.code, 0);
  assert.match(refused.stderr, /contract\.json\.git\/.* is missing/);
  assert.deepEqual(subjects(p), []);
  const { code, stdout, stderr } = inPerson(p, ['resume']);
  assert.equal(code, 0, stdout + stderr);
  assert.match(stdout + stderr, /took the state of this moment as a new start/);
  assert.doesNotMatch(stdout + stderr, /Evidence of this loop is lost:\n/, 'no heading in the same words');
  assert.deepEqual(subjects(p), ['feat: Task 1 - Make 1']);
});

for (const fails of [true, false]) {
  const what = fails ? 'refuses a plan whose settings of git cannot be read' : 'control: with an answer of git it runs';
  test(what, (t) => {
    const p = planPlace(t, task(1));
    const silent = fails ? 'case " $* " in *" config --list --null --includes "*) exit 1;; esac\n' : '';
    const git = join(p.dir, '../bin/git');
    writeFileSync(git, `#!/bin/sh\n${silent}PATH='${p.env['PATH']}' exec git "$@"\n`);
    const { code, stderr } = p.run('before nothing');
    assert.equal(code, fails ? 1 : 0, stderr);
    if (fails) assert.match(stderr, /a plan needs the settings of git at its start/);
    assert.deepEqual(subjects(p), fails ? [] : ['feat: Task 1 - Make 1']);
  });
}
