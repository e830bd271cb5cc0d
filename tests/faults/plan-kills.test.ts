import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { AGENT, type PlanPlace, planPlace } from '../support/plan-place.ts';
import { IS_LONG, longTest, someOf } from '../support/short-form.ts';

const PLAN = `# Plan

- [ ] **Task 1: First**
  - Scope: \`work\`
  - Acceptance: it is there
- [ ] **Task 2: Second**
  - Scope: \`work\`
  - Depends on: Task 1
  - Acceptance: it is there
`;
function assertOnceEach({ dir, git }: PlanPlace): void {
  const subjects = git('log', '--reverse', '--format=%s').trim().split('\n');
  assert.deepEqual(subjects, ['Begin', 'feat: Task 1 - First', 'feat: Task 2 - Second']);
  const progress = readFileSync(join(dir, 'PLAN.progress.md'), 'utf8');
  for (const id of [1, 2]) assert.equal(progress.split(`## Task ${id}: `).length, 2, `one entry of Task ${id}`);
  assert.equal(git('status', '--porcelain').replace(/^\?\? \.claude\/\n/m, ''), '');
}

const ALL = ['before status', 'before add', 'after add', 'before commit', 'after commit', 'before rev-parse'];
const IS_STRESS = IS_LONG || process.env['RALPH_STRESS_KILLS'] !== undefined;
const MOMENTS = IS_STRESS ? ALL : ['after commit'];

for (const moment of MOMENTS) {
  test(`a runner killed ${moment} of a task leaves no second commit and no second entry`, (t) => {
    const p = planPlace(t, PLAN);
    assert.equal(p.run(moment).code, null, 'it was killed');
    assert.equal(p.run(null, '--resume').code, 0);
    assertOnceEach(p);
  });
}

test('a commit whose subject a hook has extended is known after a kill: no agent works on its task again', (t) => {
  const p = planPlace(t, PLAN, `${AGENT}echo $task >> ../agents\n`);
  const hook = '#!/bin/sh\nprintf "SHOP-7 %s\\n" "$(cat "$1")" > "$1.new" && mv "$1.new" "$1"\n';
  writeFileSync(join(p.dir, '.git/hooks/prepare-commit-msg'), hook, { mode: 0o755 });
  assert.equal(p.run('after commit').code, null, 'it was killed');
  assert.equal(p.run(null, '--resume').code, 0);
  assert.equal(readFileSync(join(p.dir, '../agents'), 'utf8'), '1\n2\n');
  const subjects = p.git('log', '--reverse', '--format=%s').trim().split('\n');
  assert.deepEqual(subjects, ['Begin', 'SHOP-7 feat: Task 1 - First', 'SHOP-7 feat: Task 2 - Second']);
});

/** Its check passes only for the files of a task as they are, and kills the runner once, for those of the second task. */
const CHECKED = `---\nvalidation: ["sh check.sh"]\n---\n${PLAN}`;
const CHECK = '! grep -rqv "^done$\\|^formatted$" work\n';
const KILLS = `${CHECK}if [ -e work/2.txt ] && [ ! -e "$XDG_STATE_HOME/../killed" ] && [ "$(cat "$XDG_STATE_HOME/../kill")" = "$(cat work/2.txt)" ]; then
  touch "$XDG_STATE_HOME/../killed"; kill -9 $PPID
fi\n`;
const FORMATS =
  '#!/bin/sh\nfor file in $(git diff --cached --name-only -- work); do grep -q formatted $file || echo formatted >> $file; done\n';

function checkedPlace(t: Parameters<typeof planPlace>[0], check: string, hook: string | null): PlanPlace {
  const p = planPlace(t, CHECKED);
  writeFileSync(join(p.dir, 'check.sh'), check);
  p.git('add', '-A');
  p.git('commit', '-q', '--amend', '--no-edit');
  if (hook !== null) writeFileSync(join(p.dir, '.git/hooks/pre-commit'), hook, { mode: 0o755 });
  return p;
}

const PROVING = [
  'before write-tree',
  'after write-tree',
  'before commit-tree',
  'after commit-tree',
  'before commit',
  'after commit',
];

for (const moment of IS_STRESS ? PROVING : ['after commit-tree']) {
  test(`a runner killed ${moment} of a checked task leaves no second commit and no second entry`, (t) => {
    const p = checkedPlace(t, CHECK, null);
    assert.equal(p.run(moment).code, null, 'it was killed');
    assert.equal(p.run(null, '--resume').code, 0);
    assertOnceEach(p);
  });
}

longTest('a runner killed while a task is checked as a commit leaves neither tick nor entry, and resumes', (t) => {
  const p = checkedPlace(t, KILLS, null);
  writeFileSync(join(p.dir, '../kill'), 'done\n');
  assert.equal(p.run(null).code, null, 'it was killed');
  assert.match(readFileSync(join(p.dir, 'PLAN.md'), 'utf8'), /^- \[ \] \*\*Task 2/m);
  assert.doesNotMatch(readFileSync(join(p.dir, 'PLAN.progress.md'), 'utf8'), /## Task 2/);
  assert.equal(p.run(null, '--resume').code, 0);
  assertOnceEach(p);
});

for (const moment of ['after commit', 'in the check']) {
  longTest(`a runner killed ${moment} of a commit that a hook changed leaves no commit that was not checked`, (t) => {
    const p = checkedPlace(t, KILLS, FORMATS);
    writeFileSync(join(p.dir, '../kill'), moment === 'in the check' ? 'done\nformatted\n' : 'never');
    assert.equal(p.run(moment === 'in the check' ? null : moment).code, null, 'it was killed');
    assert.equal(p.run(null, '--resume').code, 0);
    assertOnceEach(p);
    assert.equal(p.git('show', 'HEAD:work/2.txt'), 'done\nformatted\n');
  });
}

/** Puts into the second task's commit what its check rejects. */
const REJECTED =
  '#!/bin/sh\nif git diff --cached --name-only -- work | grep -q 2.txt; then echo formatted >> work/2.txt; git add work/2.txt; fi\n';

for (const [what, names] of [
  ['a commit that nobody checked does not count after a kill', true],
  ['control: a commit that nobody checked counts where its record does not name the one that was', false],
] as const) {
  // In the short form, the loss of a record shows what counts with one.
  (names ? longTest : test)(what, (t) => {
    const p = checkedPlace(t, `${CHECK}! grep -rq formatted work\n`, REJECTED);
    assert.equal(p.run('after commit').code, null);
    const [path = ''] = recordsOf(p);
    const { proved, ...record } = JSON.parse(readFileSync(path, 'utf8'));
    assert.match(String(proved), /^[0-9a-f]{40}$/);
    if (!names) forge(path, record);
    p.run(null, '--resume');
    assert.equal(/Task 2/.test(p.git('log', '--format=%s')), !names);
  });
}

function recordsOf({ state }: PlanPlace): string[] {
  const outside = join(state, 'ralph-loop');
  return readdirSync(outside)
    .map((name) => join(outside, name, 'settling.json'))
    .filter((path) => existsSync(path));
}

/** Replaces a record and its digest in the manifest, as a program does that changes both. */
function forge(path: string, record: object): void {
  const text = JSON.stringify(record);
  writeFileSync(path, text);
  const manifest = join(dirname(path), 'evidence.json');
  const { entries, ...rest } = JSON.parse(readFileSync(manifest, 'utf8'));
  const is = createHash('sha256').update(text).digest('hex');
  writeFileSync(manifest, JSON.stringify({ ...rest, entries: { ...entries, commitIntent: { is } } }));
}

const nothingBegun = (path: string) => ({ loopId: JSON.parse(readFileSync(path, 'utf8')).loopId, id: 'none' });

const LOSSES: Readonly<Record<string, (path: string) => void>> = {
  deleted: (path) => rmSync(path),
  torn: (path) => truncateSync(path, 20),
  'an older copy': (path) => writeFileSync(path, JSON.stringify(nothingBegun(path))),
  edited: (path) => writeFileSync(path, readFileSync(path, 'utf8').replace('"proved":"', '"approved":"')),
};

for (const [how, lose] of someOf(Object.entries(LOSSES), 4))
  test(`the record of a killed commit is ${how}: the resume names it and counts no commit`, (t) => {
    const p = checkedPlace(t, `${CHECK}! grep -rq formatted work\n`, REJECTED);
    assert.equal(p.run('after commit').code, null);
    const [path = ''] = recordsOf(p);
    const whole = readFileSync(path);
    lose(path);
    const refused = p.run(null, '--resume');
    assert.notEqual(refused.code, 0);
    assert.match(refused.stderr, /Evidence of this loop is lost: \S+settling\.json/);
    assert.equal(p.git('log', '-1', '--format=%s').trim(), 'feat: Task 2 - Second', 'nothing was changed');
    writeFileSync(path, whole);
    p.run(null, '--resume');
    assert.doesNotMatch(p.git('log', '--format=%s'), /Task 2/, 'control: with its record it is taken back');
  });

test('control: with a record that says that nothing was begun, the entry of a killed task appears twice', (t) => {
  const p = planPlace(t, PLAN);
  assert.equal(p.run('before commit').code, null);
  const notes = recordsOf(p);
  assert.equal(notes.length, 1);
  for (const path of notes) forge(path, nothingBegun(path));
  p.run(null, '--resume');
  assert.throws(() => assertOnceEach(p));
});
