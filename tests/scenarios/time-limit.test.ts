import assert from 'node:assert/strict';
import { test } from 'node:test';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { agent, task } from './support/command-agent.ts';

const CLAIM = 'echo "RALPH_AUDIT_COMPLETE_NO_FINDINGS"';
const EXHAUSTED = /the budget max_time is exhausted: [\dms ]+ of \d+s\./;

test('a check that runs past max_time is ended, and the end says that the claim is unproved', (t) => {
  const p = project(t);
  const cmd = agent(p, CLAIM);
  // A slow machine has come to the check by then.
  task(p, 'budget: { max_time: 30s }\nvalidation: ["test ! -e runs.txt || { touch begun; sleep 600; touch over; }"]');
  const { code, stdout, stderr } = p.ralph(['run', '--agent', cmd]);
  assert.equal(code, 2, stdout + stderr);
  assert.match(stdout, EXHAUSTED);
  assert.match(stdout, /The checks of the last claim were cut short\./);
  assert.deepEqual([p.has('begun'), p.has('over')], [true, false]);
  assert.equal(p.ralph(['status', '--json']).json['lastLoop']?.['status' as never], 'budget-exhausted');
});

test('control: a check that ends before max_time decides the claim', (t) => {
  const p = project(t);
  const cmd = agent(p, CLAIM);
  task(p, 'budget: { max_time: 120s }\nvalidation: ["sleep 1; touch over"]');
  const { code, stdout, stderr } = p.ralph(['run', '--agent', cmd]);
  assert.equal(code, 0, stdout + stderr);
  assert.equal(p.has('over'), true);
});

for (const wake of someOf(['time', 'change'] as const, 2)) {
  test(`an idle loop that wakes by ${wake} is ended by max_time, not by the end of its wait`, (t) => {
    const p = project(t);
    const cmd = agent(p, 'echo "<!-- ralph:state idle -->"');
    task(p, `budget: { max_time: 6s }\nidle: { delay: 10m, max_delay: 10m, max: 2h, wake: ${wake} }`);
    const { code, stdout, stderr } = p.ralph(['run', '--agent', cmd]);
    assert.equal(code, 2, stdout + stderr);
    assert.match(stdout, EXHAUSTED);
  });
}

test('a pause between two iterations and the wait of a retry are ended by max_time', (t) => {
  const p = project(t);
  const fails = agent(p, 'echo no >&2; exit 1');
  task(p, 'budget: { max_time: 6s }\ninter_iteration_delay: 600');
  const retry = p.ralph(['run', '--agent', fails], { RALPH_RETRY_WAIT: '10m' });
  assert.equal(retry.code, 2, retry.stdout + retry.stderr);
  assert.match(retry.stdout, EXHAUSTED);
  const works = agent(p, 'echo fine');
  const paced = p.ralph(['run', '--fresh', '--agent', works]);
  assert.equal(paced.code, 2, paced.stdout + paced.stderr);
  assert.match(paced.stdout, EXHAUSTED);
});
