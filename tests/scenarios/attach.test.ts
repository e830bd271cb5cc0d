import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type Project, project } from '../support/project.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';
import { until } from '../support/until.ts';
import { agent, MAIN, task } from './support/command-agent.ts';

/** A runner whose agent waits in its first iteration for the file `go`. */
async function running(t: TestContext): Promise<{ p: Project; ended: Promise<unknown> }> {
  const p = project(t);
  const cmd = agent(
    p,
    'n=$(wc -l < runs.txt); echo "$prompt" > "prompt-$n.txt"; until [ -f go ]; do sleep 0.05; done; echo fine',
  );
  task(p, 'max_iterations: 2\ninter_iteration_delay: 0');
  const child = spawn(process.execPath, [MAIN, 'run', '--agent', cmd], { cwd: p.dir, env: p.env, stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  await until('the first prompt', () => existsSync(join(p.dir, 'prompt-1.txt')));
  return { p, ended };
}

test('attach shows a running loop, steers it, and leaves it alone when it is left', async (t) => {
  const { p, ended } = await running(t);
  const shown = await peopleTerminal(t, p, '$RALPH attach; echo left $?');
  await shown.waitFor(/Iteration 1 of 2/, /Ctrl\+C: leave/);
  await shown.submit('Use tabs.');
  await shown.waitFor(/next tool call: Use tabs\./);
  await shown.key('C-c');
  await shown.waitFor(/left 0/);
  assert.equal(p.ralph(['status', '--json']).json['status'], 'running');
  p.write('go', '');
  assert.equal(await ended, 2);
  assert.match(p.read('prompt-2.txt'), /Use tabs\./);
});

test('attach in a pipe prints plain lines to the end of the loop, and exits as the loop does', async (t) => {
  const { p, ended } = await running(t);
  let printed = '';
  const watching = spawn(process.execPath, [MAIN, 'attach'], { cwd: p.dir, env: p.env });
  watching.stdout.on('data', (text) => {
    printed += text;
  });
  const left = new Promise((resolve) => watching.once('close', resolve));
  await until('the view of the iteration', () => printed.includes('Iteration 1 of 2'));
  p.write('go', '');
  assert.deepEqual([await left, await ended], [2, 2]);
  assert.match(printed, /^fine$[\s\S]*Iteration 2 of 2[\s\S]*Stopped after 2 iterations/m);
});

test('Ctrl+X in attach stops the loop after its iteration', async (t) => {
  const { p, ended } = await running(t);
  const shown = await peopleTerminal(t, p, '$RALPH attach; echo left $?');
  await shown.waitFor(/Iteration 1 of 2/, /Ctrl\+X: stop/);
  await shown.key('C-x');
  await shown.waitFor(/stops after this iteration/);
  p.write('go', '');
  await ended;
  assert.match(await shown.waitFor(/left \d/), /Stopped by the user after 1 iteration/);
});

test('attach names what it can show, and refuses an agent', (t) => {
  const p = project(t);
  assert.match(p.ralph(['attach']).stderr, /there is no live loop here\. List the loops: ralph-loop list/);
  assert.match(p.ralph(['attach'], { CLAUDECODE: '1' }).stderr, /is for the user at a terminal/);
});
