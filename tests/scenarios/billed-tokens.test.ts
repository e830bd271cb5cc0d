import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { test } from 'node:test';
import { type Project, project } from '../support/project.ts';
import fc from '../support/property.ts';
import { IS_LONG, someOf } from '../support/short-form.ts';
import { until } from '../support/until.ts';
import { type BilledRun, billingClient } from './support/billing-client.ts';
import { MAIN, task } from './support/command-agent.ts';

/** `npm run stress:billing` is the long form. */
const LOOPS = Number(process.env['RALPH_BILLING_RUNS'] ?? (IS_LONG ? 6 : 3));
const RUN = ['run', '--permission-mode', 'bypassPermissions', '--json'];

interface Figures {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
  readonly costUsd: number | null;
  readonly unpricedRuns?: number;
}

interface Stored {
  readonly status: string;
  readonly iteration: number;
  readonly usage: Figures;
  readonly ended?: { readonly as: string; readonly message: string };
}

/** The loop as it is stored: live, or in the archive. */
function stored(p: Project): Stored {
  const live = '.claude/context/runtime/ralph-state.json';
  if (p.has(live)) return JSON.parse(p.read(live));
  const [only] = readdirSync(`${p.dir}/.claude/context/runtime/ralph-archive`);
  return JSON.parse(p.read(`.claude/context/runtime/ralph-archive/${only}`));
}

const counts = ({ usage }: Stored): number[] => [
  ...[usage.inputTokens, usage.outputTokens, usage.cacheReadTokens, usage.cacheWriteTokens],
];

const amount = fc.integer({ min: 1, max: 100_000 });
const billedRun: fc.Arbitrary<BilledRun> = fc.record({
  end: fc.constantFrom('ok', 'ok', 'refused', 'overloaded', 'limited', 'malformed', 'crash', 'killed', 'hang'),
  messages: fc.array(fc.tuple(amount, amount, amount, amount), { minLength: 1, maxLength: 3 }),
});

test('the figures of a loop equal what was billed, to the token, however its iterations end', (t) => {
  fc.assert(
    fc.property(fc.array(billedRun, { minLength: 1, maxLength: 4 }), (runs) => {
      const p = project(t);
      const claim: BilledRun = { end: 'claim', messages: [[1, 2, 3, 4]] };
      const { env, quick, billed } = billingClient(p, [...runs, claim]);
      task(p, 'max_iterations: 20\ntimeout: 50\nstop_on_error: false\nbreaker: {same_reply: 0, same_error: 0}');
      const { stderr } = p.ralph(RUN, { ...env, ...quick });
      const loop = stored(p);
      assert.deepEqual(counts(loop), billed(), `${JSON.stringify(loop)} ${stderr}`);
      const reached = runs.findIndex(({ end }) => end === 'refused');
      const silent = runs.slice(0, reached === -1 ? undefined : reached).filter(({ end }) => /crash|killed/.test(end));
      assert.equal(loop.usage.unpricedRuns ?? 0, silent.length, 'a run without a result has no known cost');
    }),
    { numRuns: LOOPS },
  );
});

const costly = (end: BilledRun['end']): BilledRun => ({
  end,
  messages: [
    [100_000, 1_000, 0, 0],
    [10, 5, 0, 0],
  ],
});

test('what an iteration used before it reached the limit of the account is counted', (t) => {
  const p = project(t);
  const { env, billed } = billingClient(p, [costly('limited'), costly('claim')]);
  task(p, 'max_iterations: 5');
  const { code, stdout } = p.ralph(RUN, env);
  const loop = stored(p);
  assert.deepEqual([code, loop.ended?.as], [0, 'complete'], stdout);
  assert.deepEqual(counts(loop), billed());
  assert.match(stdout, /"type":"wait.started"[^\n]*"why":"rate-limit"/);
  assert.equal(loop.usage.unpricedRuns ?? 0, 0);
});

test('iterations that time out use up the budgets', (t) => {
  for (const budget of someOf(['max_cost: 0.15', 'max_tokens: 150000'], 2)) {
    const p = project(t);
    const { env, quick, billed } = billingClient(p, [costly('hang')]);
    task(p, `max_iterations: 5\ntimeout: 50\nstop_on_error: false\nbudget: {${budget}}`);
    const { code, stderr } = p.ralph(RUN, { ...env, ...quick });
    const loop = stored(p);
    assert.deepEqual([code, loop.ended?.as, loop.iteration], [2, 'budget-exhausted', 2], stderr);
    assert.deepEqual(counts(loop), billed());
    assert.equal(loop.usage.costUsd, 0.202022);
  }
});

test('a budget is checked before each attempt at an iteration', (t) => {
  const p = project(t);
  const { env, billed } = billingClient(p, [costly('overloaded')]);
  task(p, 'max_iterations: 2\nbudget: {max_tokens: 150000}');
  const { code } = p.ralph(RUN, env);
  const loop = stored(p);
  assert.deepEqual([code, loop.ended?.as, counts(loop)[0]], [2, 'budget-exhausted', 200_020]);
  assert.deepEqual(counts(loop), billed());
});

test('an unknown cost stops a loop with a cost limit, and a resumed one continues without it', (t) => {
  const p = project(t);
  const { env } = billingClient(p, [costly('ok'), costly('crash'), costly('claim')]);
  task(p, 'max_iterations: 5\nbudget: {max_cost: 5}');
  const { code } = p.ralph(RUN, env);
  const loop = stored(p);
  assert.deepEqual([code, loop.ended?.as, loop.usage.unpricedRuns], [2, 'budget-exhausted', 1]);
  assert.match(loop.ended?.message ?? '', /^Stopped: the cost of an agent run is unknown, so the budget max_cost/);
  const resumed = p.ralph([...RUN, '--resume'], env);
  assert.equal(resumed.code, 0, resumed.stderr + resumed.stdout);
});

test('a loop that ends in an error has the cost of its last iteration', (t) => {
  const p = project(t);
  const { env, billed } = billingClient(p, [costly('ok'), costly('refused')]);
  task(p, 'max_iterations: 5');
  const { code, stdout } = p.ralph(RUN, env);
  const loop = stored(p);
  assert.deepEqual([code, loop.ended?.as], [1, 'error']);
  assert.deepEqual(counts(loop), billed());
  const end = JSON.parse(stdout.trim().split('\n').at(-1) ?? '{}');
  assert.deepEqual([end.type, end.costUsd, loop.usage.costUsd], ['run.ended', 0.202026, 0.202026]);
});

test('malformed answers are retried and do not count as iterations', (t) => {
  const p = project(t);
  const { env } = billingClient(p, [costly('malformed'), costly('malformed'), costly('claim')]);
  task(p, 'max_iterations: 1');
  const { code, stderr } = p.ralph(RUN, env);
  assert.equal(code, 0, stderr);
  assert.equal(stored(p).iteration, 1);
});

for (const [how, status] of [
  ['cancel', 'cancelled'],
  ['kill', 'running'],
] as const) {
  test(`the usage of an agent is counted after a ${how}`, async (t) => {
    const p = project(t);
    const { env, billed } = billingClient(p, [costly('ok'), costly('hang'), costly('claim')]);
    task(p, 'max_iterations: 5');
    const runner = spawn(process.execPath, [MAIN, ...RUN], { cwd: p.dir, env: { ...p.env, ...env }, stdio: 'ignore' });
    const over = once(runner, 'exit');
    await until('the agent hangs', () => p.has('../billing/hangs') && counts(stored(p)).join() === billed().join());
    if (how === 'cancel') assert.equal(p.ralph(['cancel']).code, 0);
    else runner.kill('SIGKILL');
    await over;
    const loop = stored(p);
    assert.equal(loop.ended?.as ?? loop.status, status);
    assert.deepEqual(counts(loop), billed());
    assert.equal(loop.usage.unpricedRuns ?? 0, how === 'cancel' ? 0 : 1);
    if (how === 'cancel') assert.match(loop.ended?.message ?? '', /Cancelled by the user during iteration 2/);
    else assert.equal(p.ralph([...RUN, '--resume'], env).code, 0);
    assert.deepEqual(counts(stored(p)), billed());
  });
}

test('a run pauses at its share of the account limit and continues when that resets', (t) => {
  const p = project(t);
  // The limit must not reset before a slow machine has looked at it.
  const { env } = billingClient(p, [{ ...costly('ok'), window: { used: 0.93, seconds: 40 } }, costly('claim')]);
  task(p, 'max_iterations: 5\nbudget: {stop_at: {five_hour: 0.9}}');
  const { code, stdout } = p.ralph(RUN, env);
  assert.equal(code, 0, stdout);
  const events = stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.ok(
    events.some(({ type, message }) => type === 'agent.notice' && /^Paused: 93 % of the five-hour limit/.test(message)),
    stdout,
  );
  assert.deepEqual(
    events.filter(({ type }) => type === 'wait.started').map(({ why }) => why),
    ['rate-limit'],
  );
  assert.equal(stored(p).iteration, 2);
});

test('a run that stays below its share of the account limit does not pause', (t) => {
  const p = project(t);
  const { env } = billingClient(p, [{ ...costly('ok'), window: { used: 0.89, seconds: 900 } }, costly('claim')]);
  task(p, 'max_iterations: 5\nbudget: {stop_at: {five_hour: 0.9, seven_day: 0.9}}');
  const { code, stdout } = p.ralph(RUN, env);
  assert.equal(code, 0, stdout);
  assert.doesNotMatch(stdout, /Paused/);
});
