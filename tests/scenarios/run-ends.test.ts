import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { isAlive } from '../../src/state/process/identity.ts';
import { agreeTo } from '../support/agree-to.ts';
import { commandHere } from '../support/command-here.ts';
import { project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';
import { agent, MAIN, runs, task } from './support/command-agent.ts';

test('a message that came too late for the loop is reported, and delivered when the loop is resumed', async (t) => {
  const p = project(t);
  const cmd = agent(
    p,
    `n=$(wc -l < runs.txt); echo "$prompt" > "prompt-$n.txt"; while [ ! -f "go-$n" ]; do sleep 0.05; done; echo fine`,
  );
  task(p, `agent: ${cmd}`);
  agreeTo(p.dir, p.env, { agent: cmd });
  const child = spawn(process.execPath, [MAIN, 'run', '--max-iterations', '1'], { cwd: p.dir, env: p.env });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  const ended = new Promise((resolve) => child.once('close', resolve));
  await until('the first prompt', () => existsSync(join(p.dir, 'prompt-1.txt')));
  assert.equal((await commandHere(p, ['steer', 'mind the gap'])).code, 0);
  assert.equal((await commandHere(p, ['steer', '--next', 'and the step'])).code, 0);
  p.write('go-1', '');
  p.write('go-2', '');
  assert.equal(await ended, 2);
  const left =
    /ended before the agent received your messages: "mind the gap", "and the step"\. They are kept\. Resume: ralph-loop resume/;
  assert.match(stdout, left);
  assert.match(String((await commandHere(p, ['explain', '--json'])).json['why']), left);
  const more = p.ralph(['run', '--resume', '--max-iterations', '2']);
  assert.deepEqual([more.code, runs(p)], [2, 2], more.stderr);
  assert.match(p.read('prompt-2.txt'), /mind the gap.*and the step/s);
  assert.doesNotMatch(more.stdout, /before the agent heard/);
});

test('a terminated runner says that the loop is kept, and how to resume it, also with a corrupt state', async (t) => {
  const p = project(t);
  const cmd = agent(p, '[ -e go ] || exec sleep 30');
  task(p, `agent: ${cmd}`);
  agreeTo(p.dir, p.env, { agent: cmd });
  const child = spawn(process.execPath, [MAIN, 'run'], { cwd: p.dir, env: p.env });
  let stdout = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
  const ended = new Promise((resolve) => child.once('close', resolve));
  await until('the agent runs', () => runs(p) === 1);
  child.kill('SIGTERM');
  assert.equal(await ended, 130);
  assert.match(
    stdout,
    /^ralph-loop: This runner has left the loop, which is still live\. Resume: ralph-loop resume\.\n/m,
  );
  p.write('.claude/context/runtime/ralph-state.json', '{"half');
  p.write('go', '');
  const resumed = p.ralph(['resume', '--max-iterations', '2']);
  assert.deepEqual([resumed.code, runs(p)], [2, 3], resumed.stdout + resumed.stderr);
});

test('the limits on time, cost and tokens have options of their own', async (t) => {
  const p = project(t);
  task(p, 'max_iterations: 9');
  const cmd = agent(p, 'sleep 1.1; echo fine');
  for (const [option, key] of [
    ['--max-cost', 'budget.max_cost'],
    ['--max-tokens', 'budget.max_tokens'],
  ] as const) {
    const refused = p.ralph(['run', '--agent', cmd, option, '5']);
    assert.equal(refused.code, 1);
    assert.match(refused.stderr, new RegExp(`${key} needs usage figures, .* does not report`));
  }
  assert.match(p.ralph(['run', '--agent', cmd, '--max-time', 'soon']).stderr, /budget\.max_time.*soon/);
  const { code, stdout } = p.ralph(['run', '--agent', cmd, '--max-time', '1s']);
  // Where a start takes a second, no agent runs at all.
  assert.deepEqual([code, runs(p) <= 1], [2, true], stdout);
  assert.match(stdout, /^ralph-loop: Stopped: the budget max_time is exhausted: [\dms ]+ of 1s\.$/m);
  // A bare resume would stop again at once.
  assert.match(stdout, /^ {2}Next: .* --max-time \d+s$/m);
  assert.match((await commandHere(p, ['explain'])).stdout, /^Next: .*Grant more: .* --max-time \d+s\.$/m);
});

for (const when of someOf(['before its first line', 'while its agent works'] as const, 2, 1)) {
  test(`a run whose reader leaves ${when} can be resumed, leaves no agent, and is not a success`, async (t) => {
    const p = project(t);
    const says = 'echo $$ > agent.pid; until test -f go; do sleep 0.05; done; echo a word; exec sleep 60';
    const cmd = agent(p, says);
    task(p, `agent: ${cmd}`);
    agreeTo(p.dir, p.env, { agent: cmd });
    const child = spawn(process.execPath, [MAIN, 'run'], {
      cwd: p.dir,
      env: p.env,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (when === 'while its agent works') {
      child.stdout.resume();
      await until('the agent works', () => p.has('agent.pid'));
    }
    child.stdout.destroy();
    p.write('go', '');
    assert.equal(await ended, 130);
    const state = (await commandHere(p, ['status', '--json'])).json;
    assert.deepEqual([state['status'], (state['paused'] as { reason?: string })?.reason], ['paused', 'interrupted']);
    const pid = p.has('agent.pid') ? Number(p.read('agent.pid')) : 0;
    // A process that has ended is there until its new parent has looked.
    await until('the agent is gone', () => pid === 0 || !isAlive({ pid, startedAt: null }));
  });
}
