import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { controlLoop, controlsOf } from '../../src/fleet/control.ts';
import { FleetKey, jobIdOf } from '../../src/fleet/job.ts';
import { reserve } from '../../src/fleet/queue/budget.ts';
import { FleetServer, loadPackages, queueOf } from '../../src/fleet/queue/connect.ts';
import {
  addLoop,
  fleetStatus,
  type LoopProgress,
  type LoopResult,
  loopNamed,
  loopStatus,
} from '../../src/fleet/queue/loop-index.ts';
import { FLEET_KEY, type Fleet, fleet } from '../support/fleet/fleet.ts';
import { aSubmission } from '../support/fleet/submission.ts';
import { until } from '../support/until.ts';

const KEY = new FleetKey(FLEET_KEY);
const id = (at: number): string => `a-${String(at).padStart(10, '0')}`;

interface Queued {
  readonly f: Fleet;
  readonly server: FleetServer;
}

/** A fleet with this many loops in its queue, which no worker takes. */
async function queued(t: TestContext, count: number): Promise<Queued> {
  const f = await fleet(t, { tasks: [], agent: '' });
  const server = await FleetServer.connect(loadPackages(process.cwd(), process.cwd()), f.redis.url);
  t.after(() => server.close());
  for (let at = 0; at < count; at += 1) {
    const base = { ref: 'main', sha: String(at).padStart(40, '0') };
    const submittedAt = new Date(Date.UTC(2026, 0, 1) + at * 1000).toISOString();
    await addLoop(server, KEY, { ...aSubmission(id(at)), base, submittedAt });
  }
  return { f, server };
}

/** Takes the next loop from the queue and ends it with this outcome. */
async function end({ server }: Queued, outcome: string, more: Partial<LoopResult> = {}): Promise<void> {
  const worker = new server.packages.bullmq.Worker(queueOf('default'), null, { connection: server.redis });
  const job = await worker.getNextJob('token');
  await job.moveToCompleted({ ...result(outcome), ...more }, 'token', false);
  await worker.close();
}

function result(outcome: string) {
  const none = { costUsd: null, tokens: 0, sha: null, branch: null, reason: '', report: '' };
  return { ...none, outcome, verified: false, iterations: 1 };
}

function told(more: Partial<LoopProgress>): LoopProgress {
  const none = { attempt: 0, iteration: 0, sha: null, costUsd: null, tokens: 0, takeOvers: 0, waits: null };
  return { ...none, maxIterations: 10, worker: 'one:1', at: '2026-01-01T00:00:00.000Z', ...more };
}

async function bytesOf({ server }: Queued, most: number): Promise<number> {
  const sent = async () => Number(/^total_net_output_bytes:(\d+)/m.exec(await server.redis.info('stats'))?.[1]);
  const before = await sent();
  await fleetStatus(server, most);
  return (await sent()) - before;
}

test('status reads the loops that it shows and says how many it does not show', async (t) => {
  const q = await queued(t, 300);
  await end(q, 'complete');
  const shown = q.f.ask(['status']).stdout;
  assert.match(shown, /^Loops: 299 queued, 1 ended\.$/m);
  assert.match(shown, /^250 loops are not shown\. Show all: ralph-loop fleet status --all$/m);
  assert.equal(shown.match(/^a-\d{10} /gm)?.length, 50);
  assert.ok(shown.includes(id(299)), 'the newest are shown');
  const all = q.f.ask(['status', '--all']).stdout;
  assert.equal(all.match(/^a-\d{10} /gm)?.length, 300);
  assert.match(all, /^Loops: 299 queued, 1 complete\.$/m);
  const [few, whole] = [await bytesOf(q, 50), await bytesOf(q, Number.POSITIVE_INFINITY)];
  assert.ok(few * 4 < whole, `${few} of ${whole} bytes`);
});

test('a loop that is retried is one loop, without the job of its former generation', async (t) => {
  const q = await queued(t, 1);
  for (const generation of [1, 2]) {
    await end(q, 'cancelled');
    await controlLoop({ server: q.server, key: KEY }, id(0), 'retry');
    const former = await q.server.queue('default').getJob(jobIdOf({ loopId: id(0), generation }));
    assert.equal(former, undefined, `the job of generation ${generation}`);
  }
  const { loops, total } = await fleetStatus(q.server, 50);
  assert.deepEqual([total, loops.map(({ generation, state }) => `${generation} ${state}`)], [1, ['3 queued']]);
  const jobs = await q.server.queue('default').getJobCountByTypes('completed', 'waiting');
  assert.equal(jobs, 1);
});

test('a loop that is queued again shows how far it is until a worker tells more', async (t) => {
  const q = await queued(t, 1);
  const member = { server: q.server, key: KEY };
  const job = async (generation: number) => {
    const found = await q.server.queue('default').getJob(jobIdOf({ loopId: id(0), generation }));
    assert.ok(found);
    return found;
  };
  const shown = async () => (await fleetStatus(q.server, 50)).loops[0]?.progress;
  await (await job(1)).updateProgress(told({ attempt: 1, iteration: 1, sha: 'a'.repeat(40), waits: 'idle' }));
  await end(q, 'paused', { iterations: 2, costUsd: 0.5, tokens: 70, sha: 'b'.repeat(40) });
  await controlLoop(member, id(0), 'resume');
  const stand = told({ attempt: 1, iteration: 2, sha: 'b'.repeat(40), costUsd: 0.5, tokens: 70, worker: '' });
  assert.deepEqual(await shown(), stand);
  assert.match(q.f.ask(['status']).stdout, /^a-0000000000 +queued +2\/10 +\$0\.50 /m);
  const one = q.f.ask(['status', id(0)]).stdout;
  assert.match(one, /^iteration +2 of 10$/m);
  assert.doesNotMatch(one, /^worker/m);
  // A worker without the label puts it back.
  await (await job(2)).updateProgress(told({ maxIterations: 0, waits: 'labels' }));
  assert.deepEqual(await shown(), { ...stand, waits: 'labels' });
  // The control: what its holder tells.
  const newer = told({ attempt: 2, iteration: 3 });
  await (await job(2)).updateProgress(newer);
  assert.deepEqual(await shown(), newer);
  await end(q, 'blocked');
  await controlLoop(member, id(0), 'retry');
  assert.deepEqual(await shown(), { ...newer, worker: '' });
});

test('the same work that is added again after its end is another loop beside the ended one', async (t) => {
  const q = await queued(t, 1);
  const again = aSubmission(id(1));
  const base = { ref: 'main', sha: String(0).padStart(40, '0') };
  assert.equal(await addLoop(q.server, KEY, { ...again, base }), id(0));
  await end(q, 'complete');
  assert.equal(await addLoop(q.server, KEY, { ...again, base }), id(1));
  const { loops } = await fleetStatus(q.server, 50);
  assert.deepEqual(
    loops.map(({ loopId, state }) => `${loopId} ${state}`),
    [`${id(1)} queued`, `${id(0)} ended`],
  );
});

test('status and commands say that no worker serves a loop; control: with one, they do not', async (t) => {
  const { f } = await queued(t, 1);
  const alone = /No worker of the account default is connected\. Start one: ralph-loop fleet worker --account default/;
  const one = f.ask(['status', id(0)]);
  assert.match(one.stdout, alone);
  assert.match(one.stdout, /^state +queued$/m);
  assert.match(f.ask(['status']).stdout, alone);
  assert.equal(f.ask(['status', id(0), '--json']).json['hasWorker'], false);
  assert.match(
    f.ask(['pause', id(0)]).stdout,
    new RegExp(`^The loop pauses as soon as a worker takes it\\. ${alone.source}`),
  );
  const cancelled = f.ask(['cancel', id(0)]).stdout;
  assert.match(cancelled, new RegExp(`^The loop is cancelled as soon as a worker takes it\\. ${alone.source}`));
  const other = f.worker('other', ['--account', 'other']);
  await until('it waits for loops', () => other.said().includes('waiting for loops of the account other'));
  assert.match(f.ask(['status']).stdout, alone, 'it serves another account');
  // It serves another repository, so the loop stays.
  const worker = f.worker('one', ['--repo', '/another/repository']);
  await f.reaches(id(0), 'waits', ({ state }) => state === 'waiting');
  for (const words of [['status'], ['status', id(0)], ['steer', id(0), 'Go on.']])
    assert.doesNotMatch(f.ask(words).stdout, /No worker/, words.join(' ') + worker.said());
});

test('status answers from a server that takes no writes', async (t) => {
  const { f, server } = await queued(t, 1);
  await reserve(server, 'a:1:1', { costUsd: 2, tokens: 10 }, 1, { maxCostUsd: null, maxTokens: null });
  await reserve(server, 'a:1:2', { costUsd: 3, tokens: 10 }, 600_000, { maxCostUsd: null, maxTokens: null });
  assert.equal(f.ask(['status']).code, 0);
  await f.redis.ask('CONFIG', 'SET', 'maxmemory', '1');
  for (const words of [['status'], ['status', id(0)], ['logs', id(0)]]) {
    const { code, stdout, stderr } = f.ask(words);
    assert.equal(code, 0, stderr);
    if (words.length === 1) assert.match(stdout, /^Spent: \$2\.00, 10 tokens; reserved .* \$3\.00\.$/m);
  }
  assert.match(f.ask(['cancel', id(0)]).stderr, /OOM/, 'control: a command that writes');
});

test('a loop that has used its own budget continues in another one, and a retry is refused', async (t) => {
  const q = await queued(t, 2);
  const { f, server } = q;
  await end(q, 'budget-exhausted', { usedUp: true, branch: `ralph/${id(0)}` });
  await end(q, 'budget-exhausted');
  const another = new RegExp(`fleet add '\\S+' --repo \\S+ --base '?ralph/${id(0)}'?(?! .*max-iterations)`);
  assert.match(f.ask(['status', id(0)]).stdout, another);
  const refused = f.ask(['retry', id(0)]);
  assert.match(refused.stderr, /has used the budget of its terms, which do not change/);
  assert.match(refused.stderr, another);
  assert.deepEqual(controlsOf(await loopStatus(server, await loopNamed(server, id(0)))), []);
  assert.equal(f.ask(['retry', id(1)]).code, 0, 'control: an unknown cost, which a retry accepts');
});
