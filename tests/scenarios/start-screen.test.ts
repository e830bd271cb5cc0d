import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { outsideRoot } from '../../src/state/loop-files.ts';
import { commitFolder } from '../support/git.ts';
import { planText } from '../support/plan-beside.ts';
import { type Project, project } from '../support/project.ts';
import { longTest, someOf } from '../support/short-form.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';
import type { Terminal } from '../support/terminal/terminal.ts';
import { until } from '../support/until.ts';

const DRAFT = '.ralph/make-failing-tests-pass/RALPH.md';
const KEYS = /\[Enter\] start.*\[Esc\] cancel/s;
const RUN = '$RALPH run "make the failing tests pass"';
const CLIENT = '#!/bin/sh\necho "$@" >> args.txt\necho "2.1.330 (Claude Code)"\n';
const TESTS = [
  "import { test } from 'node:test';",
  "test('one plus one is two', () => undefined);",
  "test('a name is kept', () => { throw new Error('lost'); });",
];

/** Runs the script without npm, which takes most of what a run of the check costs. */
const NPM = `#!/bin/sh\nexec sh -c "$(sed -n 's/.*"test": "\\(.*\\)".*/\\1/p' package.json)"\n`;

/** A project with one failing test, whose runs are counted in `runs`. */
function projectWithTests(t: TestContext): Project {
  const p = project(t);
  p.write('../bin/npm', NPM, 0o755);
  p.env['PATH'] = `${join(p.dir, '../bin')}:${p.env['PATH']}`;
  p.write('package.json', { type: 'module', scripts: { test: 'echo >> runs; node --test' } });
  p.write('test/names.test.js', `${TESTS.join('\n')}\n`);
  p.write('../bin/client.sh', CLIENT, 0o755);
  p.write('.gitignore', 'runs\nargs.txt\n');
  commitFolder(p.dir);
  return p;
}

async function shown(t: TestContext, p: Project, script: string, more: Record<string, string> = {}): Promise<Terminal> {
  const env = { RALPH_CLAUDE: join(p.dir, '../bin/client.sh'), PATH: String(p.env['PATH']), ...more };
  const terminal = await peopleTerminal(t, p, script, env);
  await terminal.resize(80, 24);
  return terminal;
}

/** Number of settings that the user has agreed to. */
const agreements = (p: Project): number => {
  const path = join(outsideRoot(p.env), 'agreed-settings.json');
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as unknown[]).length : 0;
};

const runs = (p: Project): number => (p.has('runs') ? p.read('runs').split('\n').length - 1 : 0);

test('plain words show one screen that names the failed test, and Enter starts after one run of the checks', async (t) => {
  const p = projectWithTests(t);
  const terminal = await shown(t, p, `${RUN} --max-iterations 1`);
  const screen = await terminal.waitFor(KEYS, /1 of 2 tests fails \(a name is kept\)/);
  for (const row of [
    /^Task {6}make the failing tests pass {2}\.ralph\/make-failing-tests-pass\/RALPH\.md$/m,
    /^Kept {6}test\/\*\* stays as it is$/m,
    /^Limits {4}1 iteration, 30m each, 4h in all, \$10\.00$/m,
    /^Agent {5}Claude Code 2\.1\.330, edits files without asking \(acceptEdits\)$/m,
    /^ {10}may also run npm test, git add, git commit, with any arguments$/m,
  ])
    assert.match(screen, row);
  assert.ok(screen.trimEnd().split('\n').length <= 20, screen);
  p.write('meanwhile.txt', 'mine\n');
  await terminal.key('Enter');
  await terminal.waitForExit();
  assert.equal(runs(p), 2, 'the results on the screen are the baseline; the second run is that at the limit');
  assert.match(await terminal.history(), /Starting Claude Code …\n[\s\S]*Iteration 1 of 1/);
  assert.match(p.read('args.txt'), /--allowedTools .*Bash\(npm test:\*\) Bash\(git add:\*\) Bash\(git commit:\*\)/);
  assert.match(p.read('args.txt'), /--permission-mode acceptEdits/);
  assert.ok(p.has(DRAFT));
  const record = p.sh(`find '${outsideRoot(p.env)}' -name '*.start-files' -exec cat {} +`).stdout;
  assert.match(record, /"meanwhile\.txt"/, 'what the user has written by Enter is no work of the loop');
  assert.equal(agreements(p), 1, 'control: by starting it, the user agreed to may_run');
});

test('a number chooses another mode, one key another limit, and the checks do not run again for it', async (t) => {
  const p = projectWithTests(t);
  const terminal = await shown(t, p, `${RUN} --max-iterations 1`);
  await terminal.waitFor(KEYS, /a name is kept/);
  await terminal.key('m');
  await terminal.waitFor(/^1 {2}acceptEdits \(recommended\): .*\n2 {2}auto: .*\n3 {2}bypassPermissions: /m);
  await terminal.key('2');
  await terminal.waitFor(KEYS, /does what Claude Code judges to be safe\s+\(auto\)/);
  await terminal.key('c');
  await terminal.waitFor('Cost in all, in dollars:');
  await terminal.submit('much');
  await terminal.waitFor(
    KEYS,
    /Notes {5}Your answer was not used: [\s\S]*budget\.max_cost\s+must\s+be\s+a\s+number\s+above\s+0/,
  );
  await terminal.key('c');
  await terminal.waitFor('Cost in all, in dollars:');
  await terminal.submit('3');
  const corrected = await terminal.waitFor(KEYS, /4h in all, \$3\.00/);
  assert.doesNotMatch(corrected, /not used|Cost in all/, 'the former screen and the question are gone');
  assert.equal(corrected.match(/^Task /gm)?.length, 1, corrected);
  await terminal.key('Enter');
  await terminal.waitForExit();
  assert.equal(runs(p), 2);
  assert.match(p.read('args.txt'), /--permission-mode auto/);
});

for (const key of someOf(['Escape', 'C-c', 'C-d'], 3, 1))
  test(`${key} on the screen ends the checks and leaves no draft`, async (t) => {
    const p = projectWithTests(t);
    p.write('package.json', { scripts: { test: 'echo >> runs; exec sleep 600' } });
    const terminal = await shown(t, p, RUN);
    await terminal.waitFor(KEYS, /npm test: running …/);
    await terminal.key(key);
    assert.equal(await terminal.waitForExit(), 130);
    assert.match(await terminal.history(), /Cancelled; nothing was started\./);
    assert.deepEqual([p.has('.ralph'), p.has('args.txt') && /acceptEdits/.test(p.read('args.txt'))], [false, false]);
    assert.equal(agreements(p), 0, 'the user has agreed to nothing');
  });

test('a kept draft stays, its file can be read and edited, and a file with errors cannot be started', async (t) => {
  const p = projectWithTests(t);
  const editor = join(p.home, 'editor');
  const script = `printf '#!/bin/sh\\nsed -i s/max_iterations:.*/max_iterations:\\\\ $N/ "$1"\\n' > ${editor}; chmod +x ${editor}; N=99 ${RUN}`;
  const terminal = await shown(t, p, script, { EDITOR: editor });
  await terminal.waitFor(KEYS, /a name is kept/);
  await terminal.key('v');
  await terminal.waitFor(KEYS, /Stop with <promise>/);
  await terminal.key('e');
  await terminal.waitFor(/max_iterations must be .*50/, /\[e\] edit[\s\S]*\[k\] keep for later/);
  await terminal.key('Enter');
  await terminal.key('k');
  assert.equal(await terminal.waitForExit(), 130);
  assert.match(await terminal.history(), /Kept\s+\S+RALPH\.md\.\s+Run it:\s+ralph-loop\s+run\s+\S+RALPH\.md/);
  assert.match(p.read(DRAFT), /max_iterations: 99/);
});

test('a check that cannot run is named on the screen, which Enter does not leave', async (t) => {
  const p = projectWithTests(t);
  p.write('job/RALPH.md', '---\nvalidation: [./gone.sh]\nmax_iterations: 1\n---\nWork.\n');
  const terminal = await shown(t, p, '$RALPH run job');
  await terminal.waitFor(/^Checks {4}\.\/gone\.sh cannot run: /m);
  await terminal.key('Enter');
  await terminal.key('Escape');
  assert.equal(await terminal.waitForExit(), 130);
  assert.ok(p.has('job/RALPH.md'), 'the file is the user’s');
});

test('a cancelled start leaves no worktree and no branch', async (t) => {
  const p = projectWithTests(t);
  const setUp = 'echo set-up > made.txt; echo >> package.json; echo > args.txt';
  const terminal = await shown(t, p, `${RUN} --worktree --worktree-setup '${setUp}'`);
  await terminal.waitFor(KEYS, /a name is kept/);
  await terminal.key('Escape');
  assert.equal(await terminal.waitForExit(), 130);
  assert.equal(existsSync(join(p.dir, '.ralph/worktrees/make-failing-tests-pass')), false);
  assert.doesNotMatch(p.sh('git branch --list; git worktree list').stdout, /make-failing-tests-pass/);
  assert.equal(p.has(DRAFT), false);
});

test('a draft that is not started takes no folder of the user with it, and an edited one stays', async (t) => {
  const p = project(t);
  p.write('outer/inner/client.sh', CLIENT, 0o755);
  rmSync(join(p.dir, 'outer/inner/client.sh'));
  const there = join(p.dir, 'outer/inner');
  const refused = p.ralph(['run', 'write a poem', '--dry-run', '--project', there], { RALPH_CLAUDE: 'gone' }, there);
  assert.equal(refused.code, 1);
  assert.deepEqual(readdirSync(there), [], 'the folder of the project is empty, and is the user’s');

  const tested = projectWithTests(t);
  const editor = join(tested.home, 'editor');
  const script = `printf '#!/bin/sh\necho mine >> "$1"\n' > ${editor}; chmod +x ${editor}; ${RUN}`;
  const terminal = await shown(t, tested, script, { EDITOR: editor });
  await terminal.waitFor(KEYS, /a name is kept/);
  await terminal.key('e');
  await until('it is edited', () => tested.read(DRAFT).endsWith('mine\n'));
  await terminal.waitFor(/\[k\] keep/);
  await terminal.key('Escape');
  assert.equal(await terminal.waitForExit(), 130);
  assert.match(await terminal.history(), /Kept \S+RALPH\.md, which was\s+edited\./);
  assert.match(tested.read(DRAFT), /mine\n$/);
});

longTest(
  'a cancelled start keeps a worktree in which a person has made files meanwhile, and names no others',
  async (t) => {
    const p = projectWithTests(t);
    p.write('package.json', {
      type: 'module',
      scripts: { test: 'echo >> runs; echo >> .env; node --test' },
      version: '1.0.0',
    });
    p.write('.gitignore', '.env\nruns\n');
    p.write('.worktreeinclude', '.env\n');
    commitFolder(p.dir);
    p.write('.env', 'A=1\n');
    const setUp = 'echo set-up > made.txt; echo >> package.json; echo > args.txt';
    const terminal = await shown(t, p, `${RUN} --worktree --worktree-setup '${setUp}'`);
    await terminal.waitFor(KEYS, /a name is kept/);
    const tree = '.ralph/worktrees/make-failing-tests-pass';
    p.write(`${tree}/mine.txt`, 'mine\n');
    await terminal.key('Escape');
    assert.equal(await terminal.waitForExit(), 130);
    assert.equal(p.read(`${tree}/mine.txt`), 'mine\n');
    const said = (await terminal.history()).replaceAll(/\s+/g, ' ');
    assert.match(said, /would lose: 1 file that is not committed \(mine\.txt\).*1 file that git ignores \(\.env\)/);
  },
);

longTest('a cancelled start keeps a worktree in which a person has committed meanwhile', async (t) => {
  const p = projectWithTests(t);
  const terminal = await shown(t, p, `${RUN} --worktree`);
  await terminal.waitFor(KEYS, /a name is kept/);
  const tree = '.ralph/worktrees/make-failing-tests-pass';
  p.sh(
    `cd ${tree} && echo mine > mine.txt && git add mine.txt && git -c user.name=x -c user.email=x@y commit -qm mine`,
  );
  await terminal.key('Escape');
  assert.equal(await terminal.waitForExit(), 130);
  assert.equal(p.read(`${tree}/mine.txt`), 'mine\n');
  assert.match((await terminal.history()).replaceAll(/\s+/g, ' '), /1 commit that no branch but ralph\/make-failing/);
});

test('--dry-run prints the start and the first prompt, also in a pipe, and leaves nothing behind', (t) => {
  const p = projectWithTests(t);
  const before = p.tree();
  const env = { RALPH_CLAUDE: join(p.dir, '../bin/client.sh') };
  const { code, stdout, stderr } = p.ralph(['run', 'make the failing tests pass', '--dry-run'], env);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Checks {4}npm test: 1 of 2 tests fails \(a name is kept\)$/m);
  assert.match(
    stdout,
    /The prompt of the first iteration:\n\n[\s\S]*Iteration 1 of 25[\s\S]*> make the failing tests pass/,
  );
  p.sh('rm -f runs args.txt');
  assert.deepEqual(p.tree(), before);
  assert.equal(existsSync(join(p.home, '.local')), false, 'nothing outside the project either');
  p.write('codex.sh', '#!/bin/sh\necho codex-cli 0.171.0\n', 0o755);
  const codex = { RALPH_CODEX: join(p.dir, 'codex.sh') };
  const drafted = p.ralph(['run', 'make the failing tests pass', '--dry-run', '--agent', 'codex'], codex);
  assert.match(
    drafted.stdout,
    /the agent does not write files with secrets\n[\s\S]*Codex 0\.171\.0/,
    'it has the guard',
  );
  p.write('.claude/ralph/PROMPT.md', '---\nmax_iterations: 2\n---\nWrite docs.\n');
  p.write('.ralph/site/task.md', '# Goals\n\nA site.\n\n# Checklist\n\n- [ ] routes\n');
  assert.match(p.ralph(['run', '--dry-run'], env).stdout, /Iteration 1 of 2[\s\S]*Write docs\./);
  assert.match(p.ralph(['run', 'site', '--dry-run'], env).stdout, /Checklist: 0 of 1[\s\S]*- routes/);
  assert.match(String(p.ralph(['run', 'site', '--dry-run', '--json'], env).json['prompt']), /Checklist: 0 of 1/);
  assert.match(p.ralph(['run', 'new-one', '--dry-run'], env).stderr, /there is no task new-one/);
  assert.match(p.ralph(['run', 'site', '--dry-run', '--worktree'], env).stderr, /it takes no --worktree/);
});

test('--dry-run of a plan shows the order of its tasks and the first prompt, and creates nothing', (t) => {
  const p = projectWithTests(t);
  const task = (head: string, more = ''): string =>
    `- [ ] ${head}\n  - Scope: src\n  - Acceptance: it is there\n${more}`;
  const needs = '  - Depends on: Task 3\n';
  p.write('PLAN.md', task('**Task 1: A**', needs) + task('(blocked) **Task 2: B**') + task('**Task 3: C**'));
  p.sh('git init -q -b main && git add -A && git -c user.name=x -c user.email=x@y commit -q -m Begin');
  p.sh('git config user.name x && git config user.email x@y');
  const before = [p.tree(), p.read('.git/info/exclude')];
  const shown = (...more: string[]) =>
    p.ralph(['run', 'PLAN.md', '--plan', '--dry-run', ...more], { RALPH_CLAUDE: join(p.dir, '../bin/client.sh') });
  const { code, stdout, stderr } = shown();
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Notes {5}Tasks, in this order: Task 3, Task 1\.\n {10}Skipped: Task 2 \(blocked\)\.$/m);
  assert.match(
    stdout,
    /Current task: Task 3, C[\s\S]*- \[ \] \*\*Task 3: C\*\*[\s\S]*Change only files in scope: `src`/,
  );
  assert.match(stderr, /a plan is not executed on main\. Create a branch/, 'a start would be refused');
  assert.match(shown('--from', 'Task 1').stderr, /this task depends on Task 3/);
  p.sh('rm -f runs args.txt');
  assert.deepEqual([p.tree(), p.read('.git/info/exclude')], before);
  p.write('PLAN.md', task('(blocked) **Task 2: B**'));
  p.sh('git commit -qam Blocked');
  assert.match(shown().stdout, /has no task to work on: none is open\.\n {10}Skipped: Task 2 \(blocked\)\.\n$/);
});

test('the screen of a plan names its number of tasks, and does not ask for a check that fails now', async (t) => {
  const p = projectWithTests(t);
  p.write('test/names.test.js', `${TESTS.slice(0, 2).join('\n')}\n`);
  p.write('PLAN.md', planText([{ id: 1 }, { id: 2 }], 'npm test'));
  commitFolder(p.dir, 'work');
  const terminal = await shown(t, p, '$RALPH run PLAN.md --plan');
  const screen = await terminal.waitFor(/npm test: passed/, /\[Enter\] start/);
  assert.match(screen, /^Limits {4}5 tasks, \d+ iterations, /m);
  assert.doesNotMatch(screen, /passes already/);
  await terminal.key('Escape');
  assert.equal(await terminal.waitForExit(), 130);
});

const TWO_DRAFTS = '$RALPH run "make the failing tests pass" "add a page" --parallel 2 --max-iterations 1';

test('several tasks start from one screen, with one mode, their own limits and those of all together', async (t) => {
  const p = projectWithTests(t);
  const terminal = await shown(t, p, `${TWO_DRAFTS} --plain`);
  const screen = await terminal.waitFor(KEYS);
  for (const row of [
    /^Tasks {5}make the failing tests pass {2}\.ralph\/make-failing-tests-pass\/RALPH\.md$/m,
    /^ {10}add a page {2}\.ralph\/add-page\/RALPH\.md$/m,
    /^Checks {4}npm test: not run yet$/m,
    /^Kept {6}make-failing-tests-pass: test\/\*\* stays as it is$/m,
    /^Limits {4}2 tasks, 2 at once; each of them:\n {10}1 iteration, 30m each, 4h in all, \$10\.00$/m,
    /^Agent {5}Claude Code 2\.1\.330, edits files without asking \(acceptEdits\)$/m,
  ])
    assert.match(screen, row);
  assert.doesNotMatch(screen, /\[e\] edit/);
  assert.ok(screen.trimEnd().split('\n').length <= 23, screen);
  await terminal.key('m');
  await terminal.waitFor(/^2 {2}auto: /m);
  await terminal.key('2');
  await terminal.waitFor(KEYS, /Claude Code judges to be safe/);
  await terminal.key('c');
  await terminal.waitFor('Cost in all, in dollars:');
  await terminal.submit('7');
  await terminal.waitFor(
    KEYS,
    /^Limits {4}2 tasks, 2 at once, together \$7\.00; each of them:\n.*30m each, 4h in all$/m,
  );
  await terminal.key('v');
  await terminal.waitFor(KEYS, /Stop with <promise>/);
  await terminal.key('Enter');
  await terminal.waitForExit();
  assert.doesNotMatch(await terminal.history(), /to be run/, 'no screen promises checks that do not run');
  const args = p.sh("cat args.txt .ralph/worktrees/*/args.txt | grep -- '-p '").stdout.trim().split('\n');
  assert.equal(args.filter((line) => line.includes('--permission-mode auto')).length, args.length, args.join('\n'));
  assert.ok(args.length >= 2, args.join('\n'));
  assert.ok(p.has(DRAFT) && p.has('.ralph/add-page/RALPH.md'));
});

longTest('several drafts that are not started leave nothing, and kept ones are named with their command', async (t) => {
  const p = projectWithTests(t);
  const left = await shown(t, p, TWO_DRAFTS);
  await left.waitFor(KEYS);
  await left.key('Escape');
  assert.equal(await left.waitForExit(), 130);
  assert.equal(p.has('.ralph'), false);
  assert.equal(p.sh('git worktree list').stdout.trim().split('\n').length, 1);
  assert.equal(agreements(p), 0);
  const kept = await shown(t, p, TWO_DRAFTS);
  await kept.waitFor(KEYS);
  await kept.key('k');
  assert.equal(await kept.waitForExit(), 130);
  assert.match(
    (await kept.history()).replaceAll(/\s+/g, ' '),
    /Run them: ralph-loop run \S+tests-pass\/RALPH\.md \S+add-page/,
  );
  assert.ok(p.has(DRAFT) && p.has('.ralph/add-page/RALPH.md'));
});

test('five tasks that differ fit one screen, with the limit of all, each mode and how many are left out', async (t) => {
  const p = projectWithTests(t);
  for (const at of [1, 2, 3, 4, 5]) {
    const mode = at === 4 ? 'permission_mode: bypassPermissions\n' : '';
    const settings = `validation: [npm run check-${at} -- --reporter=dot]\nmax_iterations: ${at}\n`;
    p.write(`t${at}/RALPH.md`, `---\n${settings}${mode}---\n# Write the part ${at} of the site\n\nWork.\n`);
  }
  commitFolder(p.dir, 'tasks');
  const terminal = await shown(t, p, '$RALPH run t1 t2 t3 t4 t5 --max-time 2h --plain');
  await terminal.waitFor(/^Sandbox \[Y/m);
  await terminal.submit('n');
  await terminal.waitFor('Type yes to agree:');
  await terminal.submit('yes');
  const screen = await terminal.waitFor(KEYS);
  for (const row of [
    /^Tasks {5}t1, t2, t3, t4, t5$/m,
    /^Checks {4}t1: npm run check-1 -- --reporter=dot: .*\n(?: {10}t\d: .*\n){4}/m,
    /^Limits {4}5 tasks, one after another, together 2h; each of them:\n.*\n {10}and 4 more tasks$/m,
    /^Agent {5}t1, t2, t3, t5: Claude Code 2\.1\.330, edits files without asking\s+\(acceptEdits\)$/m,
    /^ {10}t4: Claude Code 2\.1\.330, does everything that you may do\s+\(bypassPermissions\)$/m,
    /^ {10}t3: may also run .*exactly as\n {12}written\n {10}and 1 more task$/m,
  ])
    assert.match(screen, row);
  const rows = screen.slice(screen.lastIndexOf('\nTasks ')).trim().split('\n');
  assert.ok(rows.length <= 23, screen);
  assert.doesNotMatch(screen, /\[[^\]\n]+\]$/m, 'a key stands beside what it does');
  await terminal.key('t');
  await terminal.waitFor('Time in all, such as 8h:');
  await terminal.submit('3h');
  await terminal.waitFor(KEYS, /together 3h;/);
  await terminal.key('Escape');
  assert.equal(await terminal.waitForExit(), 130);
});

longTest(
  'the tasks of a plan side by side start from the same screen, whose answers hold for all of them',
  async (t) => {
    const p = projectWithTests(t);
    p.write('test/names.test.js', `${TESTS.slice(0, 2).join('\n')}\n`);
    p.write('PLAN.md', planText([{ id: 1 }, { id: 2 }], 'npm test'));
    p.sh('git switch -qc work');
    commitFolder(p.dir, 'work');
    const terminal = await shown(
      t,
      p,
      '$RALPH run PLAN.md --plan --parallel 2 --max-iterations 1 --set budget.max_cost=9 --plain',
    );
    const screen = await terminal.waitFor(/npm test: passed/, KEYS);
    assert.match(screen, /^Task {6}\S.* {2}PLAN\.md$/m);
    assert.match(screen, /^Limits {4}2 at once\n {10}5 tasks, 1 iteration, /m);
    await terminal.key('c');
    await terminal.waitFor('Cost in all, in dollars:');
    await terminal.submit('3');
    await terminal.waitFor(KEYS, /\$3\.00/);
    await terminal.key('m');
    await terminal.waitFor(/^2 {2}auto: /m);
    await terminal.key('2');
    await terminal.waitFor(KEYS, /Claude Code judges to be safe/);
    await terminal.key('Enter');
    await terminal.waitForExit();
    const args = p.sh("cat args.txt .ralph/worktrees/*/args.txt | grep -- '-p '").stdout;
    assert.match(args, /--permission-mode auto/, await terminal.history());
    assert.doesNotMatch(args, /--permission-mode acceptEdits/);
  },
);

test('a narrow screen shows what the agent may run; Esc leaves a question; an unused answer is named', async (t) => {
  const p = projectWithTests(t);
  const terminal = await shown(t, p, RUN);
  await terminal.resize(40, 40);
  await terminal.waitFor(KEYS, /git\s+add,\s+git\s+commit,\s+with\s+any\s+arguments/);
  await terminal.key('t');
  await terminal.waitFor(/Time in all/);
  await terminal.send('9h');
  await terminal.key('Escape');
  await terminal.waitFor(KEYS, /4h\s+in\s+all/, /^(?![\s\S]*Time in all)/);
  await terminal.key('t');
  await terminal.waitFor(/Time in all/);
  await terminal.send('0');
  await terminal.key('Enter');
  await terminal.waitFor(KEYS, /Your\s+answer\s+was\s+not\s+used:[\s\S]*longer\s+than\s+0/);
  await terminal.key('q');
  assert.equal(await terminal.waitForExit(), 130);
  assert.equal(p.has('.ralph'), false);
});
