import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { takeHold } from '../../src/state/lock/hold.ts';
import { loopFiles } from '../../src/state/loop-files.ts';
import { commandHere } from '../support/command-here.ts';
import { commitFolder } from '../support/git.ts';
import { type Project, project } from '../support/project.ts';
import { until } from '../support/until.ts';
import { MAIN } from './support/command-agent.ts';
import { git, jobs, repository, run } from './support/side-by-side.ts';

const JOB = '---\nmax_iterations: 1\n---\nWork.\n';
const WORK = 'cat > /dev/null; echo more >> kept.txt';

function ranJob(t: Parameters<typeof project>[0]): Project {
  const p = project(t);
  p.write('job/RALPH.md', JOB);
  p.write('other/RALPH.md', JOB);
  p.write('kept.txt', 'one\n');
  commitFolder(p.dir);
  p.ralph(['run', 'job', '--plain', '--agent', WORK]);
  return p;
}

test('an undo is refused while another undo of the project is at work, and goes on once that has ended', async (t) => {
  const p = ranJob(t);
  const hold = takeHold(join(dirname(loopFiles(p.dir, 'job', p.env).contract), 'undo'));
  for (const words of [
    ['undo', '--yes'],
    ['undo', '--back'],
  ]) {
    const { code, stderr } = await commandHere(p, words);
    assert.equal(code, 1);
    assert.match(stderr, /Another undo is running in this project\. Nothing was changed\. Try again later\.\n$/);
  }
  assert.equal((await commandHere(p, ['undo', '--dry-run'])).code, 0, 'a look is free');
  assert.equal(p.read('kept.txt'), 'one\nmore\n');
  hold?.release();
  assert.equal((await commandHere(p, ['undo', '--yes'])).code, 0);
  assert.equal(p.read('kept.txt'), 'one\n');
});

test('an undo is refused while another loop works on the same files', async (t) => {
  const p = ranJob(t);
  const agent = `${WORK}; touch begun; until [ -e ../go ]; do sleep 0.1; done`;
  const words = [MAIN, 'run', 'other', '--plain', '--agent', agent];
  const child = spawn(process.execPath, words, { cwd: p.dir, env: p.env, stdio: 'ignore' });
  const over = once(child, 'exit');
  await until('the other loop works', () => p.has('begun'));
  const { code, stderr } = await commandHere(p, ['undo', 'job', '--yes']);
  p.write('../go', '');
  await over;
  assert.equal(code, 1);
  assert.match(
    stderr,
    /Another loop is working on these files, so nothing was changed\. Stop it first: ralph-loop stop .*other\.?\n$/,
  );
  assert.equal(p.read('kept.txt'), 'one\nmore\nmore\n');
  assert.equal((await commandHere(p, ['undo', 'other', '--yes'])).code, 0, 'control: it has ended');
  assert.equal(p.read('kept.txt'), 'one\nmore\n');
});

test('--back with --dry-run takes nothing back', async (t) => {
  const p = ranJob(t);
  assert.equal((await commandHere(p, ['undo', '--yes'])).code, 0);
  const { code, stderr } = await commandHere(p, ['undo', '--back', '--dry-run']);
  assert.equal(code, 1);
  assert.match(stderr, /undo takes --back or --dry-run, not both/);
  assert.equal(p.read('kept.txt'), 'one\n');
});

test('an undo of integrated work names the command that takes it back', (t) => {
  const p = repository(t, ['a', 'b']);
  assert.equal(run(p, [...jobs(['a', 'b']), '--integrate', 'merge']).code, 0);
  // The first was moved to, the second merged.
  for (const name of ['b', 'a']) {
    const { code, stderr } = p.ralph(['undo', name]);
    assert.equal(code, 1);
    const [, command = ''] =
      new RegExp(`The work of ${name} was integrated.* To take it back: git (.+)\n`).exec(stderr) ?? [];
    assert.match(command, /^revert --no-edit /, stderr);
    git(p, command);
    assert.equal(p.has(`${name}.txt`), false);
  }
  assert.match(p.ralph(['undo']).stderr, /The work of b was integrated/);
  assert.match(p.ralph(['undo', 'c']).stderr, /No ended loop named c was found here/);
});

test('an undo after a run whose worktrees are gone does not call another loop one of its loops', (t) => {
  const p = repository(t, ['a', 'b', 'c']);
  p.ralph(['run', 'jobs/c', '--worktree', '--plain', '--agent', 'true']);
  assert.equal(run(p, [...jobs(['a', 'b']), '--integrate', 'merge']).code, 0);
  assert.match(p.ralph(['undo', '--dry-run']).stderr, /The last run, .* This is about the loop c\./);
});

test('an unfinished merge is named at the start, refuses a plan, and keeps work apart', (t) => {
  const p = repository(t, ['a', 'b']);
  p.write('PLAN.md', '- [ ] **Task 1: One**\n  - Scope: `one.txt`\n  - Acceptance: it is there\n');
  git(p, 'add -A');
  git(p, 'commit -qm plan');
  git(p, 'switch -qc side');
  git(p, 'commit -q --allow-empty -m side');
  git(p, 'switch -qc work main');
  git(p, 'commit -q --allow-empty -m work');
  git(p, 'merge --no-commit --no-ff side');
  const named = /A git merge is not finished\. To end it: git merge --continue, or git merge --abort\./;
  assert.match(p.ralph(['run', 'PLAN.md', '--plan', '--plain', '--agent', 'true']).stderr, named);
  assert.match(p.ralph(['run', 'jobs/a', '--plain', '--agent', 'true']).stderr, named);
  const { code, stdout, stderr } = run(p, [...jobs(['a', 'b']), '--integrate', 'merge']);
  assert.equal(code, 3, stdout + stderr);
  assert.match(stderr, named);
  assert.match(stdout, /nothing was integrated\. A git merge is not finished\./);
  git(p, 'merge --abort');
});
