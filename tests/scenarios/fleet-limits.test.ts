import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { fleetSpent, Reservations, settle } from '../../src/fleet/queue/budget.ts';
import { FleetServer, loadPackages } from '../../src/fleet/queue/connect.ts';
import { type Fleet, fleet } from '../support/fleet/fleet.ts';
import { redisServer } from '../support/fleet/redis-server.ts';
import type { Project } from '../support/project.ts';
import { until } from '../support/until.ts';
import { billingClient } from './support/billing-client.ts';

const DOLLARS_A_RUN = 1;

/** Queues a task for the client, which here is a stand-in that bills. */
function addForClient(f: Fleet, task: string): string {
  const answer = f.ask(['add', task, '--repo', f.remote, '--permission-mode', 'acceptEdits']);
  assert.equal(answer.code, 0, answer.stderr);
  return answer.stdout.trim();
}

/** The client of these runs, for a worker. */
function billing(f: Fleet, plan: Parameters<typeof billingClient>[1]): ReturnType<typeof billingClient> {
  const dir = join(f.base, 'any');
  const write = (path: string, content: string | object, mode = 0o644): void => {
    mkdirSync(dirname(join(dir, path)), { recursive: true });
    writeFileSync(join(dir, path), typeof content === 'string' ? content : JSON.stringify(content), { mode });
  };
  return billingClient({ dir, write } as Pick<Project, 'dir' | 'write'> as Project, plan);
}

const TASKS = ['a', 'b', 'c'].map((name) => ({
  name,
  keys: 'max_iterations: 20\ncompletion_promise: DONE\ncompletion_gate: disabled',
}));

test('the budget of the fleet is exceeded by at most the running iterations', async (t) => {
  const f = await fleet(t, { tasks: TASKS, agent: '#!/bin/sh\n' });
  const { env, billed } = billing(f, [{ end: 'ok', messages: [[DOLLARS_A_RUN * 1_000_000, 0, 0, 0]] }]);
  const ids = TASKS.map(({ name }) => addForClient(f, `jobs/${name}`));
  const slots = 2;
  const limit = 4.5;
  const worker = f.worker('one', ['--slots', String(slots), '--max-cost', String(limit)], env);
  for (const id of ids) {
    const result = await f.ended(id);
    assert.equal(result.outcome, 'fleet-budget', result.reason + worker.said());
    assert.match(result.reason, /budget of the fleet is used up/);
  }
  const [tokens = 0] = billed();
  const spent = tokens / 1_000_000;
  assert.ok(spent >= 2 && spent <= limit + slots * DOLLARS_A_RUN, `${spent} dollars of ${limit}`);
  const status = f.ask(['status', '--json']).json as { spent: { costUsd: number; reserved: { costUsd: number } } };
  assert.equal(status.spent.costUsd, spent);
  assert.equal(status.spent.reserved.costUsd, 0);
});

test('a claim first reserves 1.5 times what an iteration cost, and a late settlement counts in full, once', async (t) => {
  const redis = await redisServer(t);
  const root = join(import.meta.dirname, '..', '..');
  const server = await FleetServer.connect(loadPackages(root, root), redis.url);
  t.after(() => server.close());
  const limits = { maxCostUsd: 10, maxTokens: null };
  const reservations = (loop: string, timeoutMs: number) =>
    new Reservations(server, limits, `${loop}:1`, timeoutMs, { costUsd: 2, tokens: 100_000 });
  assert.equal(await reservations('a', 600_000).next(), null);
  assert.deepEqual((await fleetSpent(server)).reserved, { costUsd: 3, tokens: 150_000 });
  const late = reservations('b', 1);
  assert.equal(await late.next(), null);
  await until('it counts as spent', async () => (await fleetSpent(server)).costUsd === 3);
  late.use(5, 200_000);
  await late.settle();
  // A client whose connection broke before the answer sends it again.
  await settle(server, 'b:1:1', { costUsd: 5, tokens: 200_000 });
  const { costUsd, tokens } = await fleetSpent(server);
  assert.deepEqual([costUsd, tokens], [5, 200_000]);
  assert.deepEqual(await reservations('c', 600_000).next(), { costUsd: 8, tokens: 350_000 });
});

test('a loop that has used its own budget is not queued again, but continued in another one', async (t) => {
  const f = await fleet(t, { tasks: TASKS.slice(0, 1), agent: '#!/bin/sh\n' });
  const { env, billed } = billing(f, [{ end: 'ok', messages: [[DOLLARS_A_RUN * 1_000_000, 0, 0, 0]] }]);
  const words = ['--permission-mode', 'acceptEdits', '--max-cost', '1.5'];
  const id = f.ask(['add', 'jobs/a', '--repo', f.remote, ...words]).stdout.trim();
  const worker = f.worker('one', [], env);
  assert.equal((await f.ended(id)).outcome, 'budget-exhausted', worker.said());
  const another = /fleet add '?jobs\/a\/RALPH\.md'? .*--set '?budget\.max_cost=1\.5'?(?!.*max-iterations)/;
  assert.match(f.ask(['status', id]).stdout.replace(/\n +/g, ' '), another);
  const refused = f.ask(['retry', id]);
  assert.match(refused.stderr, /has used the budget of its terms, which do not change/);
  assert.match(refused.stderr, another);
  assert.equal(billed()[0], 2_000_000);
});

test('the cost of an ended loop includes its last iteration', async (t) => {
  const keys = 'max_iterations: 2';
  const f = await fleet(t, { tasks: [{ name: 'a', keys }], agent: '#!/bin/sh\n' });
  const { env, billed } = billing(f, [{ end: 'ok', messages: [[1_000_000, 0, 0, 0]] }]);
  const id = addForClient(f, 'jobs/a');
  f.worker('one', [], env);
  const { costUsd } = await f.ended(id);
  assert.deepEqual([costUsd, billed()[0]], [2 * DOLLARS_A_RUN, 2_000_000]);
});

test('a loop paused by the budget continues with a higher one', async (t) => {
  const f = await fleet(t, { tasks: TASKS, agent: '#!/bin/sh\n' });
  const run = { messages: [[1_000_000, 0, 0, 0] as const] };
  const { env } = billing(f, [
    { end: 'ok', ...run },
    { end: 'ok', ...run },
    { end: 'claim', ...run },
  ]);
  const id = addForClient(f, 'jobs/a');
  const first = f.worker('one', ['--max-cost', '1'], env);
  assert.equal((await f.ended(id)).outcome, 'fleet-budget');
  first.child.kill('SIGTERM');
  await first.over;
  assert.match(f.ask(['status', id]).stdout, new RegExp(`^continue +ralph-loop fleet resume ${id}$`, 'm'));
  assert.equal(f.ask(['resume', id]).code, 0);
  f.worker('two', ['--max-cost', '100'], env);
  await f.reaches(id, 'it works again', ({ progress }) => (progress?.iteration ?? 0) >= 2);
  assert.ok((f.status(id).progress?.iteration ?? 0) >= 2);
});

test('a rate limit holds back every loop of the account, and no slot', async (t) => {
  const tasks = TASKS.map(({ name, keys }) => ({ name, keys: `${keys}\nbudget: {stop_at: {five_hour: 0.9}}` }));
  const f = await fleet(t, { tasks, agent: '#!/bin/sh\n' });
  const { env, billed } = billing(f, [
    { end: 'ok', messages: [[1_000, 0, 0, 0]], window: { used: 0.99, seconds: 3_600 } },
  ]);
  const ids = ['a', 'b'].map((name) => addForClient(f, `jobs/${name}`));
  const worker = f.worker('one', ['--slots', '1'], env);
  for (const id of ids) {
    await f.reaches(id, 'waits', ({ state, progress }) => state === 'waiting' && progress?.waits === 'rate-limit');
  }
  assert.deepEqual(billed(), [1_000, 0, 0, 0], worker.said());
});

test('a loop that waits between iterations leaves its slot to another', async (t) => {
  const agent = `#!/bin/sh
cat > /dev/null
echo "$(git rev-list --count HEAD)" >> "$NOTES/$(ls jobs | head -1)-runs"
git commit -q --allow-empty -m Step
[ -e "$NOTES/end" ] && echo "<promise>DONE</promise>"
exit 0
`;
  const f = await fleet(t, { tasks: TASKS, agent });
  const slow = f.add('jobs/a', ['--set', 'inter_iteration_delay=3600']);
  f.worker('one', ['--slots', '1']);
  await f.reaches(slow, 'waits', ({ state }) => state === 'waiting');
  assert.equal(f.status(slow).progress?.iteration, 1);
  writeFileSync(join(f.notes, 'end'), '');
  const quick = f.add('jobs/b');
  assert.equal((await f.ended(quick)).outcome, 'complete');
  assert.equal(f.status(slow).state, 'waiting');
  assert.ok(existsSync(join(f.notes, 'a-runs')) && readFileSync(join(f.notes, 'a-runs'), 'utf8').startsWith('1\n'));
});
