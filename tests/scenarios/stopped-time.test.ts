import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { commandHere } from '../support/command-here.ts';
import { DIST, type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';
import { agent, MAIN, runs, task } from './support/command-agent.ts';

const RUNTIME = '.claude/context/runtime';
const NIGHT_MS = 8 * 3_600_000;

/** Moves what the loop has recorded to the evening before; with `sign` its last event stays, as if it had lived until now. */
function letANightPass(p: Project, sign = false): void {
  const earlier = (text: string): string =>
    text.replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (at) =>
      new Date(Date.parse(at) - NIGHT_MS).toISOString(),
    );
  for (const name of readdirSync(join(p.dir, RUNTIME)).filter((name) => /\.jsonl?$/.test(name))) {
    const path = `${RUNTIME}/${name}`;
    const text = p.read(path);
    const last = text.trimEnd().lastIndexOf('\n') + 1;
    const keeps = sign && name.endsWith('.jsonl') ? last : text.length;
    p.write(path, earlier(text.slice(0, keeps)) + text.slice(keeps));
  }
}

const stateOf = (p: Project): Record<string, unknown> => JSON.parse(p.read(`${RUNTIME}/ralph-state.json`));

function start(
  p: Project,
  args: readonly string[],
): { child: ChildProcess; said: () => string; over: Promise<number | null> } {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd: p.dir,
    env: p.env,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let said = '';
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (said += chunk));
  const over = new Promise<number | null>((resolve) => child.once('close', resolve));
  return { child, said: () => said, over };
}

/** A loop that may take an hour, whose runner was ended in its first iteration by `signal`. */
async function left(p: Project, signal: NodeJS.Signals): Promise<string> {
  const cmd = agent(p, 'test -f quick || exec sleep 30; echo fine');
  task(p, 'max_iterations: 3\nbudget: { max_time: 1h }');
  const runner = start(p, ['run', '--agent', cmd]);
  await until('the agent runs', () => runs(p) === 1);
  runner.child.kill(signal);
  await runner.over;
  p.write('quick', '');
  return cmd;
}

for (const signal of someOf(['SIGTERM', 'SIGKILL'] as const, 2, 1)) {
  test(`a run that ${signal} ended goes on after a night under a max_time of an hour`, async (t) => {
    const p = project(t);
    const cmd = await left(p, signal);
    letANightPass(p);
    const { code, stdout, stderr } = p.ralph(['run', '--resume', '--agent', cmd]);
    assert.equal(code, 2, stderr);
    assert.match(stdout, /Stopped after 3 iterations/);
    assert.match(stdout, /3 iterations of 3, [\dms ]+ \(not counting 8h[\dms ]* in which it did not run\)/);
  });
}

test('a killed run that its user steers in the morning has not worked at night, and its report agrees', async (t) => {
  const p = project(t);
  const cmd = await left(p, 'SIGKILL');
  letANightPass(p);
  assert.equal(p.ralph(['steer', 'Be quick']).code, 0);
  p.ralph(['report', '--out', 'r.html']);
  const ended = /"endedAt":"([^"]+)"/.exec(p.read('r.html'))?.[1] ?? '';
  assert.ok(Date.now() - Date.parse(ended) > NIGHT_MS - 1_000, `the report says that it ended at ${ended}`);
  const { code, stdout, stderr } = p.ralph(['run', '--resume', '--agent', cmd]);
  assert.equal(code, 2, stderr);
  assert.match(stdout, /\(not counting 8h[\dms ]* in which it did not run\)/);
});

test('control: a killed run whose driver lived through the night has used its time', async (t) => {
  const p = project(t);
  const cmd = await left(p, 'SIGKILL');
  letANightPass(p, true);
  const { code, stdout, stderr } = p.ralph(['run', '--resume', '--agent', cmd]);
  assert.equal(code, 2, stderr);
  assert.match(stdout, /the budget max_time is exhausted: 8h[\dms ]* of 1h\./);
});

test('a router loop that the user paused goes on after a night, and status names the time', async (t) => {
  const p = project(t);
  task(p, 'max_iterations: 3\nbudget: { max_time: 1h }');
  assert.equal(p.ralph(['router', 'start']).code, 0);
  assert.equal((await commandHere(p, ['pause'])).code, 0);
  letANightPass(p);
  assert.equal(p.ralph(['resume']).code, 0);
  assert.match((await commandHere(p, ['status'])).stdout, /started +.*\(did not run for 8h[\dms ]* of this time\)/);
  p.write('said.txt', 'Some work.\n');
  const more = p.ralph(['router', 'report', '--spawn', '1', '--file', 'said.txt']).json;
  assert.equal(more['action'], 'spawn', JSON.stringify(more));
  letANightPass(p);
  const over = p.ralph(['router', 'report', '--spawn', '2', '--file', 'said.txt']).json;
  assert.deepEqual([over['action'], over['status']], ['stop', 'budget-exhausted'], 'control: without a pause');
});

test('a runner whose machine slept leaves that time out, and says so', async (t) => {
  const p = project(t);
  const cmd = agent(p, 'sleep 0.3; echo fine');
  task(p, 'max_iterations: 100\nbudget: { max_time: 1h }');
  const runner = start(p, ['run', '--plain', '--agent', cmd]);
  await until('the agent runs', () => runs(p) > 0);
  runner.child.kill('SIGSTOP');
  await pause(7_000);
  runner.child.kill('SIGCONT');
  await until('it says so', () => /The loop did not run for \d+s, because the machine slept/.test(runner.said()));
  assert.ok(Number(stateOf(p)['stoppedMs']) > 5_000);
  runner.child.kill('SIGTERM');
  await runner.over;
  assert.match((await commandHere(p, ['logs'])).stdout, /slept/);
});

test('a session without a launcher leaves out a sleep of its machine while the agent worked', async (t) => {
  const p = project(t);
  // A namespace whose machine has slept for a night more.
  const ASLEEP = 'unshare --time --boottime 28800 --fork';
  if (p.sh(`${ASLEEP} true`).code !== 0) return t.skip('this system gives no namespace of its own for clocks');
  task(p, 'max_iterations: 9\nbudget: { max_time: 1h }');
  const payload = { session_id: 's', cwd: p.dir, hook_event_name: 'Stop', last_assistant_message: 'Some work.' };
  const env = { RALPH_ACTIVE: '1', CLAUDE_PROJECT_DIR: p.dir, CLAUDE_PID: String(process.pid) };
  const stop = (prompt: string, how: string): unknown => {
    const hook = `${how} node '${join(DIST, 'hooks/ralph-stop-hook.cjs')}'`;
    return JSON.parse(p.sh(hook, JSON.stringify({ ...payload, prompt_id: prompt }), env).stdout).decision;
  };
  assert.equal((await commandHere(p, ['start'])).code, 0);
  letANightPass(p);
  assert.equal(stop('1', ASLEEP), 'block', 'the loop goes on');
  assert.ok(Number(stateOf(p)['stoppedMs']) > NIGHT_MS / 2);
  letANightPass(p);
  assert.equal(stop('2', ASLEEP), undefined, 'control: the same sleep does not count twice, and the time is used');
});
