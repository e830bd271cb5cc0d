import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isAlive } from '../../src/state/process/identity.ts';
import { commitFolder } from '../support/git.ts';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';
import { agent, MAIN, runs, task } from './support/command-agent.ts';

const SIGNAL = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const STATE = '.claude/context/runtime/ralph-state.json';

/** A check that cannot run or give a verdict, and what the refusal says: what is wrong, then the line that corrects it. */
const REFUSED: readonly (readonly [check: string, says: RegExp])[] = [
  ['sh bin/rspec --dry-run', /\/rspec --dry-run: it tests nothing with "--dry-run": remove that\. Only the/],
  [
    'nosuchprogram --all',
    /nosuchprogram --all cannot run: .*"nosuchprogram" is not on the PATH\. Install it, or correct/,
  ],
  ['nox -s tests', /nox -s tests cannot run: .*"nox" is not on the PATH\. Install it: python3 -m pip install nox/],
  ['./closed.sh', /\.\/closed\.sh cannot run: .*exit code 126.*Make the file executable: chmod \+x '\.\/closed\.sh'/],
  [
    './gone.sh',
    /\.\/gone\.sh cannot run: .*gone\.sh.* Correct the path; if the task creates it, name it there or list it under "may_change"/,
  ],
  ['npm run tset', /npm run tset cannot run: .*tset.*Correct the command; if the task adds it, list package\.json/],
  [
    'python3 -m nosuchmodule',
    /nosuchmodule cannot run: .*nosuchmodule.*Install it: python3 -m pip install nosuchmodule/,
  ],
];

test('a check that cannot run refuses the start with the line that corrects it, and starts nothing', (t) => {
  const p = project(t);
  p.write('package.json', '{"name": "x", "scripts": {"test": "true"}}');
  p.write('closed.sh', '#!/bin/sh\nexit 0\n', 0o644);
  p.write('bin/rspec', 'echo "1 example, 0 failures"\n');
  const cmd = agent(p, `echo ${SIGNAL}`);
  for (const [check, says] of someOf(REFUSED, 2)) {
    task(p, `max_iterations: 1\nvalidation: [${JSON.stringify(check)}]`);
    const { code, stderr } = p.ralph(['run', '--plain', '--agent', cmd], { PATH: '/usr/local/bin:/usr/bin:/bin' });
    assert.equal(code, 1, stderr);
    assert.match(stderr, says);
    assert.match(
      stderr,
      /Nothing was started\. To start without running the checks first, add --no-baseline, or baseline: false to the task\./,
    );
  }
  assert.deepEqual([runs(p), p.has(STATE)], [0, false]);
  task(p, 'max_iterations: 1\nvalidation: ["exit 3"]');
  assert.equal(p.ralph(['run', '--plain', '--agent', cmd]).code, 2, 'control: a check that fails did run');
  assert.equal(runs(p), 1);
});

test('what the checks make before the start is not named as an uncommitted change of the user', (t) => {
  const p = project(t);
  const cmd = agent(p, `echo ${SIGNAL}`);
  p.write('kept.txt', 'one\n');
  task(p, 'max_iterations: 1\nvalidation: ["touch Cargo.lock"]');
  commitFolder(p.dir);
  p.write('kept.txt', 'mine\n');
  p.write('loose.txt', 'mine\n');
  const { code, stderr } = p.ralph(['run', '--plain', '--agent', cmd]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /Uncommitted changes: kept\.txt, loose\.txt\./);
  assert.ok(p.has('Cargo.lock'), 'control: the check did run before');
});

test('Ctrl+C while the checks run before the start ends them, and starts nothing', async (t) => {
  const p = project(t);
  const cmd = agent(p, `echo ${SIGNAL}`);
  task(p, 'max_iterations: 1\nvalidation: ["echo $$ > pid.txt; sleep 300 & echo $! > child.txt; wait"]');
  const child = spawn(process.execPath, [MAIN, 'run', '--plain', '--agent', cmd], { cwd: p.dir, env: p.env });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk));
  const ended = new Promise((resolve) => child.once('close', resolve));
  await until('the check runs', () => existsSync(join(p.dir, 'child.txt')) && p.read('child.txt') !== '');
  child.kill('SIGINT');
  assert.equal(await ended, 130, stderr);
  assert.match(stderr, /Nothing was started: the checks before the start were interrupted\./);
  for (const file of ['pid.txt', 'child.txt']) {
    const pid = Number(p.read(file));
    await until(`${file} is gone`, () => !isAlive({ pid, startedAt: null }));
  }
  assert.deepEqual([runs(p), p.has(STATE)], [0, false]);
});

test('--require-verified ends with 3 where nothing proves the work, and with 0 where a check turned', (t) => {
  const p = project(t);
  // Its own notes would be a changed file.
  const lazy = `cat > /dev/null; echo ${SIGNAL}`;
  const run = (...more: string[]) => p.ralph(['run', '--plain', '--fresh', '--require-verified', ...more]);
  task(p, 'max_iterations: 1\nvalidation: ["true"]');
  const none = run('--agent', lazy);
  assert.equal(none.code, 3, none.stderr);
  assert.match(none.stdout, /unverified: every check passed before the start as well/);
  const unknown = run('--agent', lazy, '--no-baseline');
  assert.equal(unknown.code, 0, 'control: a loop without a baseline, as older ones have none, is green');
  assert.match(unknown.stdout, /verified by 1 check\. Whether the checks passed before the start is unknown\./);
  assert.equal((p.ralph(['status', '--json']).json['report'] as { proof: string }).proof, 'green');
  task(p, 'max_iterations: 1\nvalidation: ["test -f made.txt"]');
  const turned = run('--agent', `touch made.txt; ${lazy}`);
  assert.equal(turned.code, 0, turned.stdout);
  assert.match(turned.stdout, /test -f made\.txt failed before the start and passes now\./);
});

test("a plan's task whose check was red is proved by it, in progress entry, commit and on the screen", (t) => {
  const p = project(t);
  agent(p, 'mkdir -p src; echo made > src/made.txt; echo Done.');
  p.write('.gitignore', 'runs.txt\n.claude/\n');
  p.write(
    'PLAN.md',
    '---\nverify_in: project\nvalidation: [{name: made, run: test -f src/made.txt}]\n---\n- [ ] **Task 1: Make it**\n  - Scope: `src`\n  - Acceptance: it is there\n',
  );
  const git = commitFolder(p.dir, 'work');
  const run = p.ralph(['run', 'PLAN.md', '--plan', '--plain', '--agent', './agent.sh', '--require-verified']);
  assert.equal(run.code, 0, run.stdout + run.stderr);
  const proof = 'red-to-green (made failed before), 1 file changed';
  assert.ok(p.read('PLAN.progress.md').includes(`- Proof: ${proof}`), p.read('PLAN.progress.md'));
  assert.ok(git('log', '-1', '--format=%b').includes(`Proof: ${proof}.`));
  assert.ok(run.stdout.includes(`Task 1 is done and committed (1 of 1). Proof: ${proof}.`), run.stdout);
  assert.match(run.stdout, /\n {2}The checks ran in the project \(verify_in: project\)/);
});
