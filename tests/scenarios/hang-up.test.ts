import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { type Project, project } from '../support/project.ts';
import { someOf } from '../support/short-form.ts';
import { peopleTerminal } from '../support/terminal/people-terminal.ts';
import { until } from '../support/until.ts';
import { agent, MAIN, runs, task } from './support/command-agent.ts';

const DONE = 'RALPH_AUDIT_COMPLETE_NO_FINDINGS';
const WORKS = 'touch working; while [ ! -e go ]; do sleep 0.05; done';

interface Running {
  readonly over: Promise<number | null>;
  readonly kill: (signal: NodeJS.Signals) => void;
}

/** `ralph-loop run` in a process group of its own without a terminal, as under nohup, setsid, systemd-run or in CI. */
function startRun(p: Project, cmd: string, env: Record<string, string> = {}): Running {
  const child = spawn(process.execPath, [MAIN, 'run', '--agent', cmd, '--json'], {
    cwd: p.dir,
    env: { ...p.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  child.stdout.resume();
  child.stderr.resume();
  const over = once(child, 'close').then(([code]) => code as number | null);
  // A shell hangs up on the whole group of its job.
  return { over, kill: (signal) => void process.kill(-(child.pid ?? 0), signal) };
}

const state = (p: Project) => JSON.parse(p.read('.claude/context/runtime/ralph-state.json')) as { status: string };
const ended = (p: Project): string => p.ralph(['status']).stdout;

test('a run without a terminal goes on after a hang-up', async (t) => {
  const p = project(t);
  task(p, 'max_iterations: 3');
  const run = startRun(p, agent(p, `${WORKS}; echo ${DONE}`));
  await until('the agent works', () => p.has('working'));
  run.kill('SIGHUP');
  run.kill('SIGHUP');
  p.write('go', '');
  assert.equal(await run.over, 0);
  assert.equal(runs(p), 1);
});

test('control: the same run is left by SIGTERM', async (t) => {
  const p = project(t);
  task(p, 'max_iterations: 3');
  const run = startRun(p, agent(p, `${WORKS}; echo ${DONE}`));
  await until('the agent works', () => p.has('working'));
  run.kill('SIGTERM');
  assert.equal(await run.over, 130);
  assert.match(ended(p), /interrupted/);
});

test('a run at a terminal that is closed pauses and can be resumed', async (t) => {
  const p = project(t);
  task(p, 'max_iterations: 3');
  const cmd = agent(p, `${WORKS}; echo ${DONE}`);
  const shown = await peopleTerminal(t, p, `$RALPH run --plain --agent ${cmd} & echo $! > pid; wait`);
  await until('the agent works', () => p.has('working') && p.has('pid'));
  process.kill(Number(p.read('pid')), 'SIGHUP');
  await until('it is paused', () => state(p).status === 'paused');
  await shown.close();
  assert.match(ended(p), /interrupted/);
  p.write('go', '');
  assert.equal(p.ralph(['run', '--resume', '--agent', cmd]).code, 0);
});

const WAITS: Readonly<Record<string, readonly [frontmatter: string, script: string]>> = {
  'an idle wait': ['idle: {delay: 5m, max: 6h}', "echo '<!-- ralph:state idle -->'"],
  'a delay between iterations': ['inter_iteration_delay: 300', 'echo worked'],
  'the wait before a retry': ['max_iterations: 3', 'exit 3'],
};

for (const [wait, [frontmatter, script]] of someOf(Object.entries(WAITS), 2)) {
  test(`one Ctrl+C during ${wait} ends the loop as stopped, without another run`, async (t) => {
    const p = project(t);
    task(p, frontmatter);
    const run = startRun(p, agent(p, script), { RALPH_RETRY_WAIT: '5m' });
    const waits = (): boolean =>
      p.has('.claude/context/runtime/ralph-events.jsonl') &&
      /"type":"(?:wait\.started|agent\.ended)"/.test(p.read('.claude/context/runtime/ralph-events.jsonl'));
    await until('it waits', () => waits() && (wait.includes('retry') || state(p).status === 'waiting'));
    await new Promise((resolve) => setTimeout(resolve, 300));
    run.kill('SIGINT');
    assert.equal(await run.over, 3);
    assert.match(ended(p), /stopped/i);
    assert.equal(runs(p), 1);
  });
}
