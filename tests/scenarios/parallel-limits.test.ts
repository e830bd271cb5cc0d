import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, statSync, utimesSync } from 'node:fs';
import { test } from 'node:test';
import type { RunnerEvent } from '../../src/engine/runner-event.ts';
import { storeProjectRecord } from '../../src/state/evidence/project-records.ts';
import { loopFiles } from '../../src/state/loop-files.ts';
import { descendants, lives } from '../support/client/process-tree.ts';
import { planProject, planText } from '../support/plan-beside.ts';
import type { Answer, Project } from '../support/project.ts';
import { longTest } from '../support/short-form.ts';
import { until } from '../support/until.ts';
import { billingClient } from './support/billing-client.ts';
import { MAIN } from './support/command-agent.ts';
import { agents, batchEnd, begun, git, jobs, log, OWN_FILE, repository } from './support/side-by-side.ts';

const DOLLAR = [1_000_000, 0, 0, 0] as const;
const CHEAP = [10, 0, 0, 0] as const;

type Told = RunnerEvent & { readonly loop: string };

const events = ({ stdout }: Answer): Told[] =>
  stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as Told);

/** Two tasks whose agents end them by the words of the billing client. */
function twoClaims(t: Parameters<typeof repository>[0]) {
  const p = repository(t, []);
  for (const name of ['one', 'two']) p.write(`${name}.md`, '---\nmax_iterations: 5\n---\nDo it.\n');
  git(p, 'add -A');
  git(p, 'commit -qm tasks');
  const words = ['run', 'one.md', 'two.md', '--parallel', '2', '--permission-mode', 'acceptEdits', '--json'];
  return { p, words };
}

test('an account’s rate limit that one agent meets holds the others until it resets, and all end complete', (t) => {
  const { p, words } = twoClaims(t);
  const { env } = billingClient(p, [
    { end: 'limited', messages: [CHEAP] },
    { end: 'ok', messages: [CHEAP] },
    { end: 'claim', messages: [CHEAP] },
  ]);
  const answer = p.ralph(words, agents(p, env));
  assert.equal(answer.code, 0, answer.stdout + answer.stderr);
  assert.deepEqual(
    batchEnd(answer).tasks.map(({ status }) => status),
    ['complete', 'complete'],
  );
  const waits = events(answer).filter((event) => event.type === 'wait.started');
  assert.ok(
    waits.every((event) => event.type === 'wait.started' && event.why === 'rate-limit'),
    JSON.stringify(waits),
  );
  // Held by each other, they would wait in turns without end.
  assert.ok(waits.length >= 1 && waits.length <= 3, JSON.stringify(waits));
});

longTest('a share of the account’s limit that one loop reaches makes all of them wait until it resets', (t) => {
  const { p, words } = twoClaims(t);
  const { env } = billingClient(p, [
    { end: 'ok', messages: [CHEAP], window: { used: 0.95, seconds: 20 } },
    { end: 'ok', messages: [CHEAP], window: { used: 0.95, seconds: 19 } },
    { end: 'claim', messages: [CHEAP] },
  ]);
  const answer = p.ralph([...words, '--set', 'budget.stop_at.five_hour=0.9'], agents(p, env));
  assert.equal(answer.code, 0, answer.stdout + answer.stderr);
  const waiting = events(answer).filter((event) => event.type === 'wait.started' && event.why === 'rate-limit');
  assert.deepEqual([...new Set(waiting.map(({ loop }) => loop))].sort(), ['one', 'two'], answer.stdout);
});

test('the task of a plan after the one that used a share of the account’s limit waits until it resets', async (t) => {
  const p = planProject(t, planText([{ id: 1 }, { id: 2 }], 'true'));
  const { env, billed } = billingClient(p, [
    { end: 'ok', messages: [CHEAP], window: { used: 0.95, seconds: 3_600 } },
    { end: 'ok', messages: [CHEAP] },
  ]);
  const words = ['PLAN.md', '--plan', '--parallel', '1', '--max-tasks', '2', '--set', 'budget.stop_at.five_hour=0.9'];
  const child = spawn(process.execPath, [MAIN, 'run', ...words, '--permission-mode', 'acceptEdits', '--json'], {
    cwd: p.dir,
    env: { ...p.env, ...env },
  });
  let stdout = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (stdout += chunk));
  const over = new Promise((resolve) => child.once('close', resolve));
  const waits = (): boolean => /"type":"wait.started".*rate-limit/.test(stdout);
  await until('the next task waits, or the run ends', () => waits() || child.exitCode !== null);
  assert.ok(waits(), stdout);
  assert.match(p.read('PLAN.md'), /^- \[x\] \*\*Task 1/m);
  assert.deepEqual(billed(), CHEAP, 'its agent did not run');
  child.kill('SIGTERM');
  await over;
});

longTest('a budget is for all tasks of a plan together, and a larger one takes them up', (t) => {
  const tasks = [1, 2, 3, 4, 5, 6, 7, 8].map((id) => ({ id }));
  const p = planProject(t, planText(tasks, 'true'));
  const { env, billed } = billingClient(p, [{ end: 'ok', messages: [DOLLAR] }]);
  const plan = ['PLAN.md', '--plan', '--parallel', '2', '--max-tasks', '8', '--max-cost', '2.5'];
  const go = (words: readonly string[]): Answer =>
    p.ralph(['run', ...words, '--permission-mode', 'acceptEdits', '--json'], { ...p.env, ...env });
  const first = go(plan);
  assert.equal(first.code, 2, first.stdout + first.stderr);
  const [input = 0] = billed();
  assert.ok(input >= 3_000_000 && input <= 4_000_000, `${input / 1e6} dollars, at most one run a loop more`);
  assert.equal(go(['--resume']).code, 2, 'the same budget allows nothing more');
  assert.deepEqual(billed(), [input, 0, 0, 0]);
  const more = go(['--resume', '--max-cost', '4.5']);
  assert.equal(more.code, 2, more.stdout + more.stderr);
  const [after = 0] = billed();
  assert.ok(after > input && after <= 6_500_000, `${after / 1e6} dollars`);
  const rest = go(['--resume', '--max-cost', '50']);
  assert.equal(rest.code, 0, rest.stdout + rest.stderr);
  assert.equal(p.git('log --format=%s').split('\n').length, 1 + tasks.length);
  assert.equal(p.git('branch --list "ralph/*"'), '');
});

test('a killed run that is resumed counts what its loops had spent, also of one that waits for its turn', async (t) => {
  const p = repository(t, ['a', 'b'], OWN_FILE, 'max_iterations: 50');
  const runs = Array.from({ length: 8 }, () => ({ end: 'ok', messages: [DOLLAR] }) as const);
  const hung = { end: 'hang', messages: [CHEAP] } as const;
  const { env, billed } = billingClient(p, [...runs, hung, hung, { end: 'ok', messages: [DOLLAR] }]);
  const limits = ['--permission-mode', 'acceptEdits', '--max-cost', '9', '--json'];
  const child = spawn(process.execPath, [MAIN, 'run', ...jobs(['a', 'b']), '--parallel', '2', ...limits], {
    cwd: p.dir,
    env: { ...p.env, ...agents(p, env) },
    stdio: 'ignore',
  });
  const over = new Promise((resolve) => child.once('close', resolve));
  await until('both agents hang', () => (billed()[0] ?? 0) >= 8_000_020);
  const tree = descendants(child.pid ?? 0);
  child.kill('SIGKILL');
  await over;
  await until('its loops and agents have ended', () => !tree.some(lives));
  const more = p.ralph(['run', '--resume', '--parallel', '1', '--json'], agents(p, env));
  assert.equal(more.code, 2, more.stdout + more.stderr);
  const [after = 0] = billed();
  assert.ok(after > 8_500_000 && after <= 10_500_000, `${after / 1e6} dollars, at most one run more than the limit`);
});

const NIGHT_MS = 8 * 3_600_000;

/** Moves the record of a run, which may take an hour, to the evening before. */
function letANightPass(p: Project): void {
  const files = loopFiles(p.dir, null, p.env);
  const written = (statSync(files.batch).mtimeMs - NIGHT_MS) / 1000;
  const { startedAt, ...rest } = JSON.parse(readFileSync(files.batch, 'utf8'));
  const before = new Date(Date.parse(startedAt) - NIGHT_MS).toISOString();
  storeProjectRecord(files, files.batch, { ...rest, startedAt: before });
  utimesSync(files.batch, written, written);
}

longTest('a killed run that is resumed after a night gives the exit code of all its tasks', async (t) => {
  const work = `[ "$name" = a ] && exit 0\nwhile [ ! -e "$NOTES/go" ]; do sleep 0.02; done\n${OWN_FILE}`;
  const p = repository(t, ['a', 'b'], work, 'max_iterations: 1');
  const words = ['run', ...jobs(['a', 'b']), '--parallel', '2', '--agent', './agent.sh', '--json', '--max-time', '1h'];
  const { child, said, over } = begun(p, words);
  await until(
    'one has ended, the other is at work',
    () => /"loop":"a","type":"run.ended"/.test(said()) && log(p).includes('+b'),
  );
  const tree = descendants(child.pid ?? 0);
  child.kill('SIGKILL');
  await over;
  // An agent that sees the file and is killed as it commits would leave its work uncommitted.
  await until('its loops and agents have ended', () => !tree.some(lives));
  p.write('../notes/go', '');
  letANightPass(p);
  const again = p.ralph(['run', '--resume', '--json'], agents(p));
  assert.equal(again.code, 2, again.stdout + again.stderr);
  assert.deepEqual(
    batchEnd(again).tasks.map(({ loop, status, code }) => [loop, status, code]),
    [
      ['a', 'no-progress-exhaustion', 2],
      ['b', 'complete', 0],
    ],
  );
  assert.equal(git(p, 'log --format=%s main..ralph/b'), 'Add b');
  const none = p.ralph(['run', '--resume'], agents(p));
  assert.equal(none.code, 1, 'control: nothing is left to resume');
});
