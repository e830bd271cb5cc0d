import assert from 'node:assert/strict';
import { test } from 'node:test';
import { project } from '../support/project.ts';
import { agent, task } from './support/command-agent.ts';

const LACKS = /The journal lacks 1 of 3 iterations: a process, or the machine, stopped before it was written\./;

/** A loop of three iterations whose journal loses what it has in the second one, as a loss of power can do. */
test('Report and logs say how many iterations the journal lacks.', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 3');
  const cmd = agent(
    p,
    'echo x >> runs; [ $(wc -l < runs) = 2 ] && : > .claude/context/runtime/ralph-events.jsonl; true',
  );
  const run = p.ralph(['run', '--plain', '--agent', cmd]);
  assert.equal(run.code, 2, run.stderr);
  assert.match(run.stdout, LACKS);
  for (const words of [['logs'], ['logs', '--iterations']]) assert.match(p.ralph(words).stderr, LACKS);
});

test('Control: they say nothing about a whole journal, with idle iterations as well.', (t) => {
  const p = project(t);
  task(p, 'max_iterations: 2\nidle: {delay: 10ms, max: 1m}');
  const cmd = agent(p, 'echo x >> runs; [ $(wc -l < runs) = 2 ] && echo "<!-- ralph:state idle -->"; true');
  const run = p.ralph(['run', '--plain', '--agent', cmd]);
  assert.equal(run.code, 2, run.stderr);
  for (const said of [run, p.ralph(['logs'])]) assert.doesNotMatch(said.stdout + said.stderr, /journal lacks/);
});
