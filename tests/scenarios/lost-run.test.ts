import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { claimBatch } from '../../src/drive/parallel/batch.ts';
import { loopFiles } from '../../src/state/loop-files.ts';
import { commandHere } from '../support/command-here.ts';
import { startHere, startNow } from '../support/drive/start-now.ts';
import { BATCH } from '../support/evidence/record-losses.ts';
import { commitFolder } from '../support/git.ts';
import { type Project, project } from '../support/project.ts';

const TASK = '---\nmax_iterations: 5\ncompletion_promise: DONE\ncompletion_gate: disabled\n---\n\nDo it.\n';

/** A project with the record of a killed run, two loops of which are live in their worktrees. */
function killedRun(p: Project): ReturnType<typeof loopFiles> {
  for (const name of ['one', 'two']) {
    const place = `.ralph/worktrees/${name}`;
    p.write(`${place}/.git`, 'gitdir: nowhere\n');
    p.write(`${place}/job/RALPH.md`, TASK);
    const at = new Date().toISOString();
    const how = { task: 'job', flags: {}, env: p.env, at, existing: 'refuse', consented: true } as const;
    startNow({ projectDir: join(p.dir, place), name, baseline: null, ...how });
  }
  claimBatch(p.dir, p.env, BATCH, null);
  return loopFiles(p.dir, null, p.env);
}

const DAMAGES: Readonly<Record<string, (path: string) => void>> = {
  deleted: (path) => rmSync(path),
  emptied: (path) => writeFileSync(path, ''),
  'made a folder': (path) => {
    rmSync(path);
    mkdirSync(path);
  },
};

for (const [damage, damaged] of Object.entries(DAMAGES))
  test(`every command that looks for the last run names its record that was ${damage}`, async (t) => {
    const p = project(t);
    const { batch } = killedRun(p);
    damaged(batch);
    for (const words of [['status'], ['list'], ['explain'], ['resume'], ['archive'], ['undo', '--dry-run']]) {
      const { stdout, stderr } = await commandHere(p, words);
      const said = stdout + stderr;
      assert.match(said, /the record of the parallel run is lost: \S+parallel\.json is/, words.join(' '));
      assert.doesNotMatch(said, /Choose one/, words.join(' '));
    }
    const { tasks } = (
      (await commandHere(p, ['status', '--json'])).json['runs'] as { tasks: { id: string }[] }[]
    )[0] ?? {
      tasks: [],
    };
    assert.deepEqual(
      tasks.map(({ id }) => id),
      ['one', 'two'],
      'its worktrees are shown',
    );
  });

test('control: a resume asks which of two loops is meant where no run was lost', async (t) => {
  const p = project(t);
  const { batch, records } = killedRun(p);
  for (const path of [batch, records]) rmSync(path);
  assert.match((await commandHere(p, ['resume'])).stderr, /2 loops are active here/);
});

test('a loop whose state is lost is named by its name and its path, not as a task to start', async (t) => {
  const p = project(t);
  p.write('.ralph/docs/RALPH.md', TASK);
  startHere(p, '.ralph/docs');
  const { state } = loopFiles(p.dir, 'docs', p.env);
  rmSync(state);
  for (const words of [
    ['status', 'docs'],
    ['status', '.ralph/docs'],
    ['explain', 'docs'],
    ['undo', 'docs'],
    ['list'],
  ]) {
    const { stdout, stderr } = await commandHere(p, words);
    const said = stdout + stderr;
    assert.ok(said.includes(`${state} is missing`), `${words.join(' ')}: ${said}`);
    assert.match(said, /Resume: \S.* resume docs/, words.join(' '));
    assert.doesNotMatch(said, /Start one|not started/, words.join(' '));
  }
});

test('a loop over a plan whose state is lost is resumed as a plan', (t) => {
  const p = project(t);
  const task = '- [ ] **Task 1: Make one**\n\n  - Scope: one.txt\n  - Acceptance:\n    - [ ] `test -f one.txt`\n';
  p.write('PLAN.md', `# Plan\n\n${task}`);
  p.write('.gitignore', '.claude/\n');
  commitFolder(p.dir);
  p.sh('git switch -qc work');
  const started = p.ralph(['start', '--task', 'PLAN.md', '--plan']);
  assert.equal(started.code, 0, started.stderr);
  const { state, contract } = loopFiles(p.dir, null, p.env);
  rmSync(state);
  const resumed = p.ralph(['start', '--resume']);
  assert.equal(resumed.code, 0, resumed.stderr);
  assert.match(readFileSync(contract, 'utf8'), /"plan": \{\s+"maxTasks"/);
});
