import assert from 'node:assert/strict';
import { utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { AGENT, type PlanPlace, planPlace, read, subjects, task } from '../support/plan-place.ts';
import { longTest, someOf } from '../support/short-form.ts';

/** Ways in which an agent makes git keep quiet about a change outside the scope of its task: [what, file, shell text]. */
const TRICKS: readonly (readonly [what: string, file: string, trick: string])[] = [
  ['info/exclude', 'new.ts', 'echo x > new.ts; echo new.ts >> .git/info/exclude'],
  ['core.excludesFile', 'new.ts', 'echo x > new.ts; echo new.ts > .git/mine; git config core.excludesFile .git/mine'],
  [
    'a global ignore file',
    'new.ts',
    'echo x > new.ts; mkdir -p ~/.x; echo new.ts > ~/.x/i; git config --global core.excludesFile "~/.x/i"',
  ],
  ['core.fileMode', 'other.txt', 'git config core.fileMode false; chmod +x other.txt'],
  [
    'info/attributes and a filter',
    'other.txt',
    'echo "*.txt filter=f" > .git/info/attributes; git config filter.f.clean "git show HEAD:%f 2>/dev/null || cat"; echo more >> other.txt; git add other.txt',
  ],
  [
    'ident',
    'other.txt',
    'echo "other.txt ident" > .git/info/attributes; sed -i "s/.Id./\\$Id: more \\$/" other.txt; git add other.txt',
  ],
  ['core.autocrlf', 'other.txt', 'git config core.autocrlf input; sed -i "s/$/\\r/" other.txt; git add other.txt'],
  [
    'a core.attributesFile',
    'other.txt',
    'echo "*.txt ident" > .git/mine; git config core.attributesFile .git/mine; sed -i "s/.Id./\\$Id: more \\$/" other.txt; git add other.txt',
  ],
  [
    'core.trustctime',
    'other.txt',
    'git status >/dev/null; git config core.trustctime false; git config core.checkStat minimal; touch -r other.txt .git/when; sed -i s/kept/KEPT/ other.txt; touch -r .git/when other.txt',
  ],
  [
    'the ignore file of the user',
    'new.ts',
    'echo x > new.ts; mkdir -p "$XDG_CONFIG_HOME/git"; echo new.ts > "$XDG_CONFIG_HOME/git/ignore"',
  ],
  [
    'the attributes file of the user',
    'other.txt',
    'mkdir -p "$XDG_CONFIG_HOME/git"; echo "*.txt ident" > "$XDG_CONFIG_HOME/git/attributes"; sed -i "s/.Id./\\$Id: more \\$/" other.txt; git add other.txt',
  ],
  [
    'an included configuration',
    'other.txt',
    'printf "[core]\\n\\tfileMode = false\\n" > .git/more; git config include.path more; chmod +x other.txt',
  ],
  [
    'the configuration of the work tree',
    'other.txt',
    'git config extensions.worktreeConfig true; git config --worktree core.fileMode false; chmod +x other.txt',
  ],
  [
    'a condition in the configuration',
    'other.txt',
    'printf "[core]\\n\\tfileMode = false\\n" > .git/more; git config "includeIf.onbranch:**.path" more; chmod +x other.txt',
  ],
  [
    'a global core.fileMode',
    'other.txt',
    'git config --unset core.fileMode; git config --global core.fileMode false; chmod +x other.txt',
  ],
  [
    'a global core.autocrlf',
    'other.txt',
    'git config --global core.autocrlf input; sed -i "s/$/\\r/" other.txt; git add other.txt',
  ],
  [
    'the attribute eol',
    'other.txt',
    'echo "*.txt text eol=crlf" > .git/info/attributes; sed -i "s/$/\\r/" other.txt; git add other.txt',
  ],
  [
    'the attribute text',
    'other.txt',
    'echo "*.txt text" > .git/info/attributes; sed -i "s/$/\\r/" other.txt; git add other.txt',
  ],
  [
    'a filter of the user',
    'other.txt',
    'echo "*.txt filter=f" > .git/info/attributes; git config --global filter.f.clean "git show HEAD:%f 2>/dev/null || cat"; echo more >> other.txt; git add other.txt',
  ],
  [
    'a filter process in a configuration that is included',
    'other.txt',
    'printf "[filter \\"f\\"]\\n\\tclean = git show HEAD:other.txt\\n" > .git/more; git config include.path more; echo "other.txt filter=f" > .git/info/attributes; echo more >> other.txt; git add other.txt',
  ],
];

/** What an agent does that leaves its task with a change outside its scope. */
function place(context: TestContext, trick: string): PlanPlace {
  const p = planPlace(context, task(1), `${AGENT}${trick}\n`);
  writeFileSync(join(p.dir, 'other.txt'), 'kept $Id$\n');
  // An index that is a second newer than its files takes their times for true.
  utimesSync(join(p.dir, 'other.txt'), 1e9, 1e9);
  p.git('add', '-A');
  p.git('commit', '-q', '-m', 'Files');
  p.git('update-index', '--refresh');
  return p;
}

for (const [what, file, trick] of someOf(TRICKS, 6)) {
  test(`finds a change outside the scope although ${what} hides it`, (t) => {
    // Once: a second attempt would change the file again, which not every trick hides.
    const p = place(t, `[ -e .git/said ] || { ${trick}; git status --porcelain ${file} > .git/said; }`);
    const { code, stdout } = p.run(null);
    assert.equal(code, 3, stdout);
    assert.equal(read(p, '.git/said'), '', 'control: git itself is fooled');
    assert.deepEqual(subjects(p).slice(1), []);
    assert.match(
      read(p, 'PLAN.progress.md'),
      new RegExp(`scope: outside the scope of Task 1: ${file.replace('.', '\\.')}\\.`),
    );
  });
}

longTest('a commit that replaces another hides no change outside the scope', (t) => {
  const replace =
    'echo x > new.ts; git add new.ts; git replace HEAD $(git commit-tree -m x $(git write-tree)); git reset -q';
  const p = place(t, `${replace}; git status --porcelain new.ts > .git/said`);
  assert.equal(p.run(null).code, 3);
  assert.equal(read(p, '.git/said'), '', 'control: git itself is fooled');
  assert.match(read(p, 'PLAN.progress.md'), /scope: outside the scope of Task 1: new\.ts\./);
});

const HOOKS = [
  [
    'a new hook',
    'printf "#!/bin/sh\\necho x > extra.ts; git add extra.ts\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit',
  ],
  [
    'another folder of hooks',
    'mkdir .git/mine; printf "#!/bin/sh\\necho x > extra.ts; git add extra.ts\\n" > .git/mine/pre-commit; chmod +x .git/mine/pre-commit; git config core.hooksPath .git/mine',
  ],
] as const;

for (const [what, trick] of someOf(HOOKS, 2)) {
  test(`${what} of the agent adds nothing to the commit of its task, and the user is told`, (t) => {
    const p = place(t, trick);
    const { code, stdout } = p.run(null);
    assert.equal(code, 0, stdout);
    assert.deepEqual(subjects(p).slice(1), ['feat: Task 1 - Make 1']);
    assert.doesNotMatch(p.git('show', '--name-only', '--format=', 'HEAD'), /extra/);
    assert.match(stdout, /The repository's git hooks were changed after the start, so none was run for the commit\./);
  });
}

test("a filter that the agent sets up does not change the content of its task's commit", (t) => {
  const filter = 'echo "work/* filter=f" > .git/info/attributes; git config filter.f.clean "echo other"';
  const p = place(t, filter);
  const { code, stdout } = p.run(null);
  assert.equal(code, 3, stdout);
  assert.deepEqual(subjects(p).slice(1), []);
  assert.match(
    read(p, 'PLAN.progress.md'),
    /commit: the commit of Task 1 was undone: under the git settings of the start/,
  );
});

test('settings and ignore rules of the start stay in force for the user', (t) => {
  const p = planPlace(t, task(1), `${AGENT}echo y > mine.log; echo y > kept.txt; chmod +x tool\n`);
  for (const name of ['kept.txt', 'tool']) writeFileSync(join(p.dir, name), 'x\n');
  p.git('add', '-A');
  p.git('commit', '-q', '-m', 'Files');
  p.git('config', 'core.fileMode', 'false');
  p.git('update-index', '--assume-unchanged', 'kept.txt');
  writeFileSync(join(p.dir, '.git/info/exclude'), '*.log\n');
  const { code, stdout } = p.run(null);
  assert.equal(code, 0, stdout);
  assert.deepEqual(subjects(p).slice(1), ['feat: Task 1 - Make 1']);
});
