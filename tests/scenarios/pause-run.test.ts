import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { type Project, project } from '../support/project.ts';
import { until } from '../support/until.ts';
import { agent, MAIN, runs, task } from './support/command-agent.ts';

interface Started {
  readonly over: Promise<number | null>;
  readonly said: () => string;
  readonly interrupt: () => void;
  readonly kill: (signal: NodeJS.Signals) => void;
}

/** A run whose agent begins to work, waits for the file `go`, and then says what `end` prints. */
function startRun(p: Project, end: string): Started {
  const cmd = agent(p, `touch working; while [ ! -e go ]; do sleep 0.05; done; rm -f go working; ${end}`);
  const child = spawn(process.execPath, [MAIN, 'run', '--agent', cmd, '--json'], { cwd: p.dir, env: p.env });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  child.stderr.resume();
  const over = once(child, 'close').then(([code]) => code as number | null);
  return { over, said: () => said, interrupt: () => child.kill('SIGINT'), kill: (signal) => child.kill(signal) };
}

const state = (p: Project): { status: string; iteration: number } =>
  JSON.parse(p.read('.claude/context/runtime/ralph-state.json'));

test('a result that the agent finishes after a pause is verified and completes the loop', async (t) => {
  const p = project(t);
  task(p, 'max_iterations: 5\nvalidation: ["test -f DONE"]');
  const { over, said } = startRun(p, 'touch DONE; echo RALPH_AUDIT_COMPLETE_NO_FINDINGS');
  await until('the agent works', () => p.has('working'));
  assert.match(p.ralph(['status']).stdout, /^ *client +started by the run, which is alive$/m);
  const paused = p.ralph(['pause']);
  assert.equal(paused.code, 0);
  assert.match(paused.stdout, /^The loop is paused\. An agent at work finishes its turn first\. Resume: /);
  p.write('go', '');
  assert.equal(await over, 0, said());
  assert.equal(runs(p), 1);
});

test('a run that Ctrl+Z has stopped is shown as suspended until fg', {
  skip: process.platform !== 'linux',
}, async (t) => {
  const p = project(t);
  task(p, 'max_iterations: 1');
  const { over, kill } = startRun(p, 'echo fine');
  await until('the agent works', () => p.has('working'));
  kill('SIGSTOP');
  await until('it is suspended', () => /^The loop is suspended by Ctrl\+Z; fg /.test(p.ralph(['status']).stdout));
  assert.match(
    p.ralph(['explain']).stdout,
    /Its process is suspended, as by Ctrl\+Z\..*Next: Type fg in its terminal\./s,
  );
  assert.match(p.ralph(['list']).stdout, / suspended /);
  kill('SIGCONT');
  assert.match(p.ralph(['status']).stdout, /^The loop is running/);
  p.write('go', '');
  assert.equal(await over, 2);
});

test('after a pause and a resume, one Ctrl+C lets the iteration finish', async (t) => {
  const p = project(t);
  task(p, 'max_iterations: 5');
  const { over, said, interrupt } = startRun(p, 'echo worked >> work.txt; echo "Report $$"');
  await until('the agent works', () => p.has('working'));
  assert.equal(p.ralph(['pause']).code, 0);
  p.write('go', '');
  await until('the loop is paused', () => state(p).status === 'paused' && state(p).iteration === 1);
  assert.equal(p.ralph(['resume']).code, 0);
  await until('the next iteration works', () => p.has('working'));
  interrupt();
  await until('the loop stops after this iteration', () => said().includes('"next":"stop"'));
  p.write('go', '');
  await over;
  assert.equal(p.read('work.txt'), 'worked\nworked\n');
  assert.match(said(), /Stopped by the user after 2 iterations\./);
});
