import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { planProject, planText } from '../support/plan-beside.ts';
import { AGENT, type PlanPlace, planPlace, read, subjects, TWO, task } from '../support/plan-place.ts';
import { IS_LONG, longTest, someOf } from '../support/short-form.ts';

const CHECKED = '---\nvalidation: ["sh check.sh"]\n---\n';
const IN_PROJECT = CHECKED.replace('---\n', '---\nverify_in: project\n');

type Files = Readonly<Record<string, string>>;

/** A plan's project with more files, all committed apart from those that git ignores. */
function placeWith(t: Parameters<typeof planPlace>[0], plan: string, files: Files, agent = AGENT): PlanPlace {
  const p = planPlace(t, plan, agent);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(p.dir, path, '..'), { recursive: true });
    writeFileSync(join(p.dir, path), text, { mode: 0o755 });
  }
  p.git('add', '-A');
  p.git('commit', '-q', '-m', 'Files');
  return p;
}

const own = (p: PlanPlace): string[] => subjects(p).slice(1);

/** What an agent does so that the check passes in the project alone: [what, shell text, what the commit lacks]. */
const ELSEWHERE: readonly (readonly [what: string, shell: string, lacks: RegExp])[] = [
  ['a file that git ignores', 'mkdir -p gen; echo ok > gen/out', /which lacks ignored files: gen\/out\./],
  ['a file ignored by a rule of its own', 'echo /mine > work/.gitignore; echo ok > work/mine', /work\/mine/],
  ['a file hidden by the settings of git', 'echo ok > hid.tmp', /hid\.tmp/],
];
const CHECK = 'cat gen/out work/mine hid.tmp 2>&1 | grep -q ok || { cat gen/out work/mine hid.tmp; exit 1; }\n';

for (const [what, shell, lacks] of someOf(ELSEWHERE, 3)) {
  test(`a task whose check needs ${what} passes in the project and fails on its commit`, (t) => {
    const files = { 'check.sh': CHECK, '.gitignore': 'gen/\n*.tmp\n' };
    const p = placeWith(t, CHECKED + task(1), files, `${AGENT}${shell}\n`);
    const { code, stdout } = p.run(null);
    assert.equal(code, 3, stdout);
    assert.deepEqual(own(p), []);
    assert.match(stdout, /sh check\.sh: passes in the project, fails on the commit, which lacks ignored files: /);
    assert.match(stdout, lacks);
    assert.match(read(p, 'PLAN.md'), /^- \[ \] \(blocked\) \*\*Task 1/m);
    assert.ok(existsSync(join(p.dir, 'work/1.txt')), 'the work stays');
    const inProject = placeWith(t, IN_PROJECT + task(1), files, `${AGENT}${shell}\n`);
    assert.equal(inProject.run(null).code, 0, 'control: in the project it passes');
  });
}

test('an ignored file that the plan names for copies is there when a commit is verified', (t) => {
  const plan = CHECKED.replace('---\n', '---\nworktree_copy: [".env"]\n') + task(1);
  const p = placeWith(t, plan, { 'check.sh': 'grep -q key .env\n', '.gitignore': '.env\n', '.env': 'key\n' });
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.deepEqual(own(p), ['feat: Task 1 - Make 1']);
});

longTest('a link to an absolute path of the project, which no clone has, does not let a task pass', (t) => {
  const placeOf = (target: string): PlanPlace => {
    const p = planPlace(t, task(1), `${AGENT}mkdir -p ignored; echo x > ignored/a; ln -sfn "${target}" work/link\n`);
    writeFileSync(join(p.dir, '.git', 'info', 'exclude'), 'ignored/\n');
    return p;
  };
  const p = placeOf('$PWD/ignored/a');
  const { code, stdout } = p.run(null);
  assert.equal(code, 3, stdout);
  assert.match(stdout, /links: links to an absolute path in this folder: work\/link\./);
  assert.deepEqual(subjects(p), []);
  const control = placeOf('/etc/hostname').run(null);
  assert.equal(control.code, 0, `control: a path that is no part of the project\n${control.stdout}`);
  assert.match(control.stdout, /links that lead out of the repository: work\/link\./);
});

test('a link out of the repository is no work', (t) => {
  const agent = (more: string): string =>
    `#!/bin/sh\ncat > /dev/null\nmkdir -p work; ln -sfn /etc/hostname work/link\n${more}`;
  const { code, stdout } = planPlace(t, task(1), agent('')).run(null);
  assert.equal(code, 3, stdout);
  assert.match(stdout, /no file in the scope of Task 1 changed/);
  const control = planPlace(t, task(1), agent('ln -sfn ../PLAN.md work/inner\n')).run(null);
  assert.equal(control.code, 0, `control: one that a clone has too\n${control.stdout}`);
});

test('a weakened test that stays outside the commit does not let a task pass', (t) => {
  // It is left by a blocked task, so it is not part of the next one.
  const agent = `#!/bin/sh
task=$(sed -n 's/^Current task: Task \\([0-9]*\\),.*/\\1/p' | head -1)
mkdir -p work test
if [ $task = 1 ]; then echo true > test/strict.sh; echo "Blockers: no key"; else echo wrong > work/2.txt; fi
`;
  const plan = CHECKED + task(1).replace('`work`', '`test`') + task(2);
  const files = { 'check.sh': 'sh test/strict.sh\n', 'test/strict.sh': '! grep -rq wrong work\n' };
  const p = placeWith(t, plan, files, agent);
  assert.equal(p.run(null).code, 3);
  const { code, stdout } = p.run(null, '--resume');
  assert.equal(code, 3, stdout);
  assert.match(stdout, /passes in the project, fails on the commit, which lacks all changes outside the task/);
  assert.deepEqual(own(p), []);
  assert.equal(read(p, 'test/strict.sh'), 'true\n', "the user's tree stays as it was");
});

longTest('a clone of every commit of a plan passes its checks', (t) => {
  const p = placeWith(t, CHECKED + TWO, { 'check.sh': 'test "$(ls work)" = "$(git ls-files work | sed s,work/,,)"\n' });
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  for (const commit of p.git('rev-list', 'HEAD~2..HEAD').trim().split('\n')) {
    p.git('clone', '-q', '.', `../${commit}`);
    p.git('-C', `../${commit}`, 'checkout', '-q', commit);
    p.git('-C', `../${commit}`, '-c', 'alias.check=!sh check.sh', 'check');
  }
});

test('checks run once on the commit of a task that passes, and again in the project where they fail', (t) => {
  const log = 'pwd >> "$XDG_STATE_HOME/runs"\n';
  const p = placeWith(t, CHECKED + task(1), { 'check.sh': `${log}test ! -e work/1.txt || grep -q fixed work/1.txt\n` });
  writeFileSync(join(p.dir, 'agent.sh'), `${AGENT}[ -e ../tried ] && echo fixed > work/1.txt\ntouch ../tried\n`);
  p.git('commit', '-q', '-a', '-m', 'Agent');
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  const runs = read(p, '../state/runs')
    .trim()
    .split('\n')
    .map((dir) => (dir === p.dir ? 'project' : 'copy'));
  assert.deepEqual(runs.slice(-3), ['copy', 'project', 'copy']);
  assert.match(stdout, /Task 1 did not pass; it will be tried once more\.\n {2}sh check\.sh: exit code 1/);
});

/** An installed package, and another one of the workspace that is linked among those installed. */
const NPM: Files = {
  '.gitignore': 'node_modules/\n',
  'package.json':
    '{ "name": "root", "type": "module", "workspaces": ["packages/*"], "scripts": { "test": "node --test && says" } }\n',
  'packages/core/package.json': '{ "name": "core", "type": "module", "exports": "./index.js" }\n',
  'packages/core/index.js': 'export const core = 1;\n',
  'work/a.test.js':
    "import assert from 'node:assert/strict';\nimport { test } from 'node:test';\nimport { dep } from 'dep';\nimport { core } from 'core';\ntest('both', () => assert.deepEqual([dep, core], [1, 2]));\n",
  'node_modules/dep/package.json': '{ "name": "dep", "type": "module", "exports": "./index.js" }\n',
  'node_modules/dep/index.js': 'export const dep = 1;\n',
  'node_modules/.bin/says': '#!/bin/sh\necho installed\n',
};

test('an ordinary npm project needs no setting: its commits are verified with what is installed', (t) => {
  const plan = (scope: string): string =>
    `---\nvalidation: ["npm test"]\n---\n- [ ] **Task 1: Make 1**\n  - Scope: \`${scope}\`\n  - Acceptance: yes\n`;
  const agent = '#!/bin/sh\necho "export const core = 2;" > packages/core/index.js\n';
  const p = placeWith(t, plan('packages'), NPM, agent);
  symlinkSync('../packages/core', join(p.dir, 'node_modules/core'));
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.match(p.git('log', '-1', '--format=%b'), /, 1 file changed\.$/m);
  assert.equal(read(p, 'node_modules/dep/index.js'), 'export const dep = 1;\n');

  if (!IS_LONG) return;
  // The linked package is that of the commit, so what the commit lacks is missing.
  const hidden = placeWith(
    t,
    plan('packages'),
    { ...NPM, '.gitignore': 'node_modules/\nhidden.js\n' },
    `${agent}
echo "export * from './hidden.js';" > packages/core/index.js; echo "export const core = 2;" > packages/core/hidden.js\n`,
  );
  symlinkSync('../packages/core', join(hidden.dir, 'node_modules/core'));
  const refused = hidden.run(null);
  assert.equal(refused.code, 3, refused.stdout);
  assert.match(
    refused.stdout,
    /npm test: passes in the project, fails on the commit, which lacks ignored files: packages\/core\/hidden\.js\./,
  );
});

longTest('tasks in worktrees find what is installed in the project when their commits are verified', (t) => {
  const p = planProject(t, planText([{ id: 1 }, { id: 2 }], 'node check.mjs'));
  p.write('check.mjs', "import 'dep';\n");
  p.write('.gitignore', 'node_modules/\n');
  p.write('node_modules/dep/package.json', '{ "name": "dep", "exports": "./index.js" }\n');
  p.write('node_modules/dep/index.js', '');
  p.git('add -A');
  p.git('commit -qm Files');
  const { code, stdout } = p.run(['PLAN.md', '--plan', '--parallel', '2']);
  assert.equal(code, 0, stdout);
});

test('a commit that a hook changes is verified as it became, and the branch waits for that', (t) => {
  const plan = CHECKED + task(1);
  const files = { 'check.sh': 'git log -1 --format=%s >> "$XDG_STATE_HOME/seen"; ! grep -rq bad work\n' };
  const good = placeWith(t, plan, files);
  const hook = (p: PlanPlace, line: string): void =>
    writeFileSync(join(p.dir, '.git/hooks/pre-commit'), `#!/bin/sh\necho ran >> ../hooks\n${line}\n`, { mode: 0o755 });
  hook(good, 'echo formatted >> work/1.txt; git add work');
  const { code, stdout } = good.run(null);
  assert.equal(code, 0, stdout);
  assert.equal(good.git('show', 'HEAD:work/1.txt'), 'done\nformatted\n');
  assert.equal(read(good, '../hooks'), 'ran\n', 'hooks run once');
  assert.equal(good.git('status', '--porcelain', '-uno'), '');

  const bad = placeWith(t, plan, files);
  const head = bad.git('rev-parse', 'HEAD');
  hook(bad, 'echo bad >> work/1.txt; git add work');
  const refused = bad.run(null);
  assert.equal(refused.code, 3, refused.stdout);
  assert.equal(bad.git('rev-parse', 'HEAD'), head);
  assert.match(read(bad, 'PLAN.md'), /^- \[ \] \(blocked\) \*\*Task 1/m);
  assert.doesNotMatch(read(bad, 'PLAN.progress.md'), /Status: completed/);
});

test('files that a hook fixes before it rejects their commit are committed, and verified as they became', (t) => {
  const placeFor = (word: string): PlanPlace => {
    const p = placeWith(
      t,
      CHECKED + task(1),
      { 'check.sh': '! grep -rq bad work\n' },
      `${AGENT}echo ran >> ../agents\n`,
    );
    // As a formatter of the pre-commit framework; without a word it only rejects.
    const fixes = `grep -q "^${word}" work/1.txt && exit\necho ${word} >> work/1.txt\n`;
    const hook = `#!/bin/sh\necho ran >> ../hooks\n${word === '' ? '' : fixes}exit 1\n`;
    writeFileSync(join(p.dir, '.git/hooks/pre-commit'), hook, { mode: 0o755 });
    return p;
  };
  const good = placeFor('fixed');
  const { code, stdout } = good.run(null);
  assert.equal(code, 0, stdout);
  assert.equal(good.git('show', 'HEAD:work/1.txt'), 'done\nfixed\n');
  assert.equal(read(good, '../agents'), 'ran\n', 'it costs no attempt');
  assert.equal(good.git('status', '--porcelain', '-uno'), '');

  const bad = placeFor('bad');
  assert.equal(bad.run(null).code, 3);
  assert.deepEqual(own(bad), []);
  assert.match(read(bad, 'PLAN.progress.md'), /sh check\.sh: failed/);

  const rejects = placeFor('');
  assert.equal(rejects.run(null).code, 3);
  assert.equal(read(rejects, '../hooks'), read(rejects, '../agents'), 'a hook that fixes nothing runs once');
});

test('what a process of the agent writes between the checks and the commit is verified as well', (t) => {
  const late = 'case "$PWD" in */checks/*) cd "$(cat "$XDG_STATE_HOME/where")" && echo bad > work/1.txt;; esac\n';
  const p = placeWith(t, CHECKED + task(1), { 'check.sh': `! grep -rq bad work || exit 1\n${late}` });
  writeFileSync(join(p.state, 'where'), p.dir);
  const { code, stdout } = p.run(null);
  assert.equal(code, 3, stdout);
  assert.deepEqual(own(p), []);
});

test('what a user writes outside the scope while the checks run is named, and in no commit', (t) => {
  const late = 'cd "$(cat "$XDG_STATE_HOME/where")" && echo half > notes.md && git add notes.md\n';
  const p = placeWith(t, CHECKED + task(1), { 'check.sh': `test -e work/1.txt || exit 1\n${late}` });
  writeFileSync(join(p.state, 'where'), p.dir);
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.match(
    stdout,
    /outside the scope of Task 1 were changed by no call .*, so its commit is without them: notes\.md\./,
  );
  assert.equal(p.git('ls-files', 'notes.md'), '');
  assert.equal(read(p, 'notes.md'), 'half\n');
});

test('a report that the checks wrote before the start is no change outside the scope', (t) => {
  const files = { 'check.sh': 'date +%N > report.txt; test -e work/1.txt\n' };
  const p = placeWith(t, CHECKED + task(1), files, `${AGENT}sh check.sh\n`);
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.equal(p.git('ls-files', 'report.txt'), '', 'it is in no commit');
  const other = placeWith(t, CHECKED + task(1), files, `${AGENT}sh check.sh; date > other.txt\n`);
  assert.equal(other.run(null).code, 3, 'control: a file of the agent');
});

test('no copy is left, and neither plan nor index shows a tick while a commit is verified', (t) => {
  const files = {
    'check.sh': 'grep -c "^- .x." "$(cat "$XDG_STATE_HOME/where")" >> "$XDG_STATE_HOME/ticks"; test -d .\n',
  };
  const p = placeWith(t, CHECKED + TWO, files);
  writeFileSync(join(p.state, 'where'), join(p.dir, 'PLAN.md'));
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.deepEqual(read(p, '../state/ticks').trim().split('\n').slice(-2), ['0', '1']);
  const copies = join(p.dir, '..', 'home', '.cache', 'ralph-loop', 'checks');
  assert.deepEqual(
    readdirSync(copies, { recursive: true }).filter((name) => String(name).includes('copy')),
    [],
  );
});

const HOOKS = [
  ['removes', 'rm -f PLAN.md'],
  ['empties', ': > PLAN.md'],
  ['leaves as it is', ':'],
] as const;

for (const [what, does] of someOf(HOOKS, 2))
  test(`a plan that a hook ${what} is complete only once its tasks are done`, (t) => {
    const p = placeWith(t, TWO, { 'own.txt': '' });
    writeFileSync(join(p.dir, '.git/hooks/post-commit'), `#!/bin/sh\n${does}\n`, { mode: 0o755 });
    const { code, stdout, stderr } = p.run(null);
    assert.equal(code === 0, does === ':', stdout + stderr);
    assert.equal(/All \d tasks of PLAN\.md are done/.test(stdout), does === ':', stdout);
  });
