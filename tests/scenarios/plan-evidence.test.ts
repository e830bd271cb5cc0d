import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { PLAN_TEXTS } from '../../src/drive/plan/messages.ts';
import { MAKES, planProject, planText } from '../support/plan-beside.ts';
import { AGENT, planPlace, read, subjects, TWO, task } from '../support/plan-place.ts';
import { longTest, someOf } from '../support/short-form.ts';

const GREEN = `---\nvalidation: ["true"]\n---\n`;
const BOTH = ['feat: Task 1 - Make 1', 'feat: Task 2 - Make 2'];
const NO_CHANGE = /work: no file in the scope of Task 1 changed/;

/** Agents that do nothing inside the scope `work` of their task: [what, shell text]. */
const LAZY: readonly (readonly [what: string, shell: string])[] = [
  ['nothing', 'echo "Hello again."'],
  ['a file that git ignores', 'mkdir -p work && echo x > work/a.log'],
  ['the time of a file', 'touch work/kept.txt'],
  ['a change that it takes back', 'echo x > work/kept.txt; git add -A; git commit -qm x; git revert --no-edit HEAD'],
  ['its own commit of nothing', 'git commit -q --allow-empty -m "Do it all"'],
  ['a note in the plan', 'echo "All done." >> PLAN.md'],
  ['the tick of its task', 'sed -i "s/\\[ \\] \\*\\*Task 1/[x] **Task 1/" PLAN.md'],
  ['a mark that says its task needs no change', 'sed -i "s/\\[ \\] \\*/[ ] (no-change) */" PLAN.md'],
];

for (const [what, shell] of someOf(LAZY, 8)) {
  test(`a task whose checks are green is not done by an agent that changes ${what}`, (t) => {
    const p = planPlace(t, GREEN + TWO, `#!/bin/sh\n${shell}\n`);
    mkdirSync(join(p.dir, 'work'));
    writeFileSync(join(p.dir, 'work/kept.txt'), 'kept\n');
    writeFileSync(join(p.dir, '.gitignore'), '*.log\n');
    p.git('add', '-A');
    p.git('commit', '-q', '-m', 'Files');
    const before = subjects(p).length;
    const { code, stdout } = p.run(null, '--require-verified');
    assert.equal(code, 3, stdout);
    assert.match(
      stdout,
      /did not pass; it will be tried once more\.\n {2}work: no file in the scope of Task 1 changed/,
    );
    assert.equal(subjects(p).length, before);
    assert.match(read(p, 'PLAN.md'), /^- \[ \] \(blocked\) (?:\(no-change\) )?\*\*Task 1/m);
    assert.match(read(p, 'PLAN.progress.md'), NO_CHANGE);
    assert.match(stdout, /Task 1 is blocked: [^\n]*If the task needs no change, mark it \(no-change\) in the plan\./);
    assert.doesNotMatch(read(p, 'PLAN.progress.md'), /end as blocked/, 'that is said to the agent');
  });
}

longTest('a change that git does not commit, such as that of line ends or in a filter, is no work', (t) => {
  const begin = (shell: string) => {
    const p = planPlace(t, GREEN + task(1), `#!/bin/sh\n${shell}\n`);
    mkdirSync(join(p.dir, 'work'));
    writeFileSync(join(p.dir, 'work/kept.txt'), 'kept\nfor good\n');
    writeFileSync(join(p.dir, '.gitattributes'), 'work/*.txt text=auto filter=no-stamps\n');
    p.git('config', 'filter.no-stamps.clean', 'grep -v stamp');
    p.git('config', 'filter.no-stamps.smudge', 'cat');
    p.git('add', '-A');
    p.git('commit', '-q', '-m', 'Files');
    return { p, before: subjects(p).length, ...p.run(null) };
  };
  for (const lie of someOf(["sed -i 's/\\r*$/\\r/' work/kept.txt", 'echo stamp >> work/kept.txt'], 2)) {
    const { p, before, code, stdout } = begin(lie);
    assert.equal(code, 3, stdout);
    assert.match(stdout, /commit: the commit of Task 1 was undone: [^\n]* no file in its scope differs/);
    assert.equal(subjects(p).length, before);
  }
  const { p, before, code, stdout } = begin("sed -i 's/$/\\r/' work/kept.txt; echo more >> work/kept.txt");
  assert.equal(code, 0, stdout);
  assert.equal(subjects(p).length, before + 1, 'control');
});

test('code in an ignored folder that only has the name of one for dependencies does not let a task pass', (t) => {
  const check = `---\nvalidation:\n  - node -e "require(path.resolve('work/a.js'))"\n---\n${task(1)}`;
  for (const folder of someOf(['work/node_modules', 'work/vendor'], 2)) {
    const shell = `mkdir -p work ${folder}; echo "require('./${folder.slice(5)}/b.js')" > work/a.js; echo > ${folder}/b.js`;
    const played = (files: Readonly<Record<string, string>>) => {
      const p = planPlace(t, check, `#!/bin/sh\n${shell}\n`);
      writeFileSync(join(p.dir, '.gitignore'), 'node_modules\nvendor\n');
      mkdirSync(join(p.dir, 'work'));
      for (const [name, text] of Object.entries({ 'work/a.js': 'throw 1;\n', ...files }))
        writeFileSync(join(p.dir, name), text);
      p.git('add', '-A');
      p.git('commit', '-q', '-m', 'Files');
      return p.run(null);
    };
    const { code, stdout } = played({});
    assert.equal(code, 3, stdout);
    assert.match(stdout, /passes in the project, fails on the commit/);
    const control = played({ 'work/package.json': '{}', 'work/composer.json': '{}' });
    assert.equal(control.code, 0, `control: beside the file that names them they are dependencies. ${control.stdout}`);
  }
});

test('control: an agent that does the same plan completes it at its first claim', (t) => {
  const p = planPlace(t, GREEN + task(1));
  const { code, stdout } = p.run(null, '--require-verified');
  assert.equal(code, 0, stdout);
  assert.deepEqual(subjects(p), BOTH.slice(0, 1));
  assert.match(stdout, /1 iteration of 25/);
});

test('a task whose text changes while its agent works is not done before an agent has the new text', (t) => {
  const change = (file: string) => `grep -q twice ${file} || sed -i '0,/Acceptance: .*/s//& twice/' ${file}`;
  const p = planPlace(t, GREEN + task(1), `${AGENT}\n${change('PLAN.md')}\n`);
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.match(
    stdout,
    /Task 1 is partly done and continues\.\n {2}plan: the text of Task 1 in PLAN\.md is not the one/,
  );
  assert.match(stdout, /2 iterations of 25/);
  assert.deepEqual(subjects(p), BOTH.slice(0, 1));
  // Only its own agent: that of Task 2 may work before Task 1 is opened.
  const own = `[ "$id" != 1 ] || { ${change('"$MAIN_DIR/PLAN.md"')}; }\n`;
  const beside = planProject(t, planText([{ id: 1 }, { id: 2 }]), own + MAKES);
  const run = beside.run(['PLAN.md', '--plan', '--parallel', '2']);
  assert.equal(run.code, 0, run.stdout + run.stderr);
  assert.match(run.stdout, /the text of Task 1 in PLAN\.md is not the one that this attempt was made for/);
  assert.equal(beside.git('log --format=%s').split('\n').length, 3);
});

test('control: a task that stands indented in its plan, as nobody changed it, is done at its first claim', (t) => {
  const indented = task(1)
    .replace(/^ {2}- /gm, '      - ')
    .replace(/^- /, '   - ');
  const { code, stdout } = planPlace(t, GREEN + indented).run(null);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /1 iteration of 25/);
});

test('a title that is put back is one title, and two are two', () => {
  assert.match(
    PLAN_TEXTS.renamedTasks(['1'], 'PLAN.md'),
    /^1 was given .* before it was done\. The title was put back\./,
  );
  assert.match(
    PLAN_TEXTS.renamedTasks(['1', '2'], 'PLAN.md'),
    /^1, 2 were .* they were done\. The titles were put back\./,
  );
});

test('a task that its agent gives another title or id is not done, and the title is put back', (t) => {
  const renames = 'sed -i "s/Make 2/Nothing/" PLAN.md';
  const swaps = 'sed -i -e "s/Task 1:/Task 0:/" -e "s/Task 2:/Task 1:/" -e "s/Task 0:/Task 2:/" PLAN.md';
  for (const shell of someOf([renames, swaps], 2, 1)) {
    const p = planPlace(t, GREEN + TWO, `${AGENT}[ $task = 1 ] && ${shell} || true\n`);
    const { code, stdout } = p.run(null);
    assert.equal(code, 3, stdout);
    assert.match(stdout, /plan: Task 2[^\n]* given another title in PLAN\.md before [^\n]*put back/);
    assert.deepEqual(subjects(p).slice(0, -1), [], shell);
    assert.match(
      read(p, 'PLAN.md'),
      /\*\*Task 1: Make 1\*\*[\s\S]*\*\*Task 2: Make 2\*\*|\*\*Task 2: Make 2\*\*[\s\S]*\*\*Task 1: Make 1\*\*/,
    );
  }
});

test('a task that needs no change, as its plan says, is done without one', (t) => {
  const plan =
    GREEN + task(1).replace('[ ]', '[ ] (no-change)') + task(2).replace('**:', '**').replace('2**', '2** (no-change)');
  const p = planPlace(t, plan, '#!/bin/sh\necho "Summary: measured."\n');
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.deepEqual(subjects(p), BOTH);
  assert.match(
    read(p, 'PLAN.md'),
    /^- \[x\] \(no-change\) \*\*Task 1.*\n[\s\S]*^- \[x\] \*\*Task 2: Make 2\*\* \(no-change\)/m,
  );
  assert.match(p.git('log', '-1', '--format=%b'), /^Proof: [^\n]*, no file changed\.$/m);
});

test('work that an earlier iteration of the task left uncommitted counts for it', (t) => {
  const halves = `${AGENT.replace('echo done >', '[ -e work/$task.txt ] || echo done >')}
[ -e ../half-$task ] || { touch ../half-$task; echo "<!-- ralph:state partial -->"; }\n`;
  const p = planPlace(t, GREEN + task(1), halves);
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.match(stdout, /Task 1 is partly done and continues\.[\s\S]*2 iterations of 25/);
  assert.deepEqual(subjects(p), BOTH.slice(0, 1));
});

test('work of an iteration whose runner was killed counts for its task when it is resumed', (t) => {
  const once = `${AGENT.replace('echo done >', '[ -e work/$task.txt ] || echo done >')}
[ -e ../killed-$task ] || { touch ../killed-$task; kill -9 $PPID; }\n`;
  const p = planPlace(t, GREEN + task(1), once);
  assert.equal(p.run(null).code, null);
  const { code, stdout } = p.run(null, '--resume');
  assert.equal(code, 0, stdout);
  assert.deepEqual(subjects(p), BOTH.slice(0, 1));
});

longTest('work that an attempt left before its check failed counts for the next attempt', (t) => {
  const agent = `${AGENT.replace('echo done >', '[ -e work/$task.txt ] || echo done >')}[ -e ../ready ] || { touch ../ready; exit; }
touch "$XDG_STATE_HOME/ready"\n`;
  const p = planPlace(t, `---\nvalidation: ['test -e "$XDG_STATE_HOME/ready"']\n---\n${TWO}`, agent);
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.deepEqual(subjects(p), BOTH);
});

test('a task that changes what a blocked task has left takes that file over', (t) => {
  const agent = `${AGENT.replace('work/$task.txt', 'work/shared.txt').replace('echo done', 'echo $task')}[ $task = 2 ] || echo "Blockers: no key"\n`;
  const p = planPlace(t, GREEN + TWO, agent);
  assert.equal(p.run(null).code, 3);
  const { code, stdout } = p.run(null, '--resume');
  assert.equal(code, 3, stdout);
  assert.deepEqual(subjects(p), BOTH.slice(1));
  assert.equal(p.git('show', 'HEAD:work/shared.txt'), '2\n');
});

test('an agent that names a blocker does not claim its task, and the blocker is recorded', (t) => {
  for (const said of someOf(['**Blockers:**\n- I could not create a.txt', 'Blockers: I could not create a.txt'], 2)) {
    const p = planPlace(t, GREEN + TWO, `${AGENT}printf '%s\n' '${said}'\n`);
    const { code, stdout } = p.run(null);
    assert.equal(code, 3, stdout);
    assert.deepEqual(subjects(p), []);
    assert.match(read(p, 'PLAN.progress.md'), /- Status: blocked[\s\S]*- Blockers: I could not create a\.txt/);
  }
  const free = planPlace(t, GREEN + task(1), `${AGENT}echo "- **Blockers:** None, all done"\n`);
  assert.equal(free.run(null).code, 0);
});

longTest('tasks beside each other are not done by agents that do nothing, and are by honest ones', (t) => {
  const plan = planText([{ id: 1 }, { id: 2 }], 'true');
  const words = ['PLAN.md', '--plan', '--parallel', '2'];
  const lazy = planProject(t, plan, ':');
  const { code, stdout } = lazy.run(words);
  assert.equal(code, 3, stdout);
  assert.equal(lazy.git('log --format=%s'), 'Begin');
  assert.match(lazy.read('PLAN.progress.md'), /no file in the scope of Task [12] changed/);
  assert.doesNotMatch(stdout, /^Task 1 .* complete /m);
  const honest = planProject(t, plan);
  const done = honest.run(words);
  assert.equal(done.code, 0);
  assert.match(
    done.stdout,
    /^task +title +state +proof +files .*\nTask 1 +Make 1 +complete +still-green +1 .*\nTask 2 +Make 2 +complete +still-green +1 /m,
  );
  assert.deepEqual(honest.git('log --format=%s').split('\n'), [...BOTH].reverse().concat('Begin'));
});

const tap = (tests: number): string => `TAP version 13\n1..${tests}\n# tests ${tests}\n# pass ${tests}\n# fail 0\n`;

const ORDERS = [
  ['one after the other', []],
  ['beside each other', ['--parallel', '2']],
] as const;

for (const [how, words] of someOf(ORDERS, 2)) {
  test(`the verdict on tasks ${how} names the tests that are gone since the start`, (t) => {
    const plan = planText([{ id: 1 }, { id: 2, scope: 'tests', needs: [1] }], 'cat tests/tap.txt');
    const played = (last: number): string => {
      const p = planProject(t, plan, `[ $id = 1 ] && { ${MAKES} }; [ $id = 2 ] && cat tests/last.txt > tests/tap.txt`);
      for (const [file, tests] of [
        ['tap', 6],
        ['last', last],
      ] as const)
        p.write(`tests/${file}.txt`, tap(tests));
      p.git('add tests');
      p.git('commit -qm Tests');
      const { code, stdout } = p.run(['PLAN.md', '--plan', ...words]);
      assert.equal(code, 0, stdout);
      return stdout;
    };
    assert.match(played(3), /Task 2 is done.*\. Tests of cat tests\/tap\.txt: 3 tests fewer than at the start\.$/m);
    assert.doesNotMatch(played(7), /Tests of/, 'control');
  });
}
