import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { type Envelope, FleetKey } from '../../src/fleet/job.ts';
import { KEYS } from '../../src/fleet/queue/connect.ts';
import { FLEET_KEY, type Fleet, fleet } from '../support/fleet/fleet.ts';
import { until } from '../support/until.ts';

/** Notes that it ran, and ends at the second iteration once `go` is there. */
const AGENT = `#!/bin/sh
cat > "$NOTES/prompt"
n=$(git rev-list --count HEAD)
echo "$n" >> "$NOTES/runs"
while [ ! -e "$NOTES/go" ]; do sleep 0.05; done
git commit -q --allow-empty -m "Step $n"
[ "$n" -ge 2 ] && echo "<promise>DONE</promise>"
exit 0
`;

interface Attack {
  readonly f: Fleet;
  readonly queue: Queue;
  readonly redis: Redis;
}

/** A fleet, and the access to its server that an attacker without the key has. */
async function attacked(t: TestContext): Promise<Attack> {
  const f = await fleet(t, { tasks: [{ name: 'a' }], agent: AGENT });
  const redis = new Redis(f.redis.url, { maxRetriesPerRequest: null });
  redis.on('error', () => undefined); // the server ends before it
  const queue = new Queue('ralph-default', { connection: redis });
  queue.on('error', () => undefined);
  t.after(async () => {
    await queue.close();
    redis.disconnect();
  });
  return { f, queue, redis };
}

const runs = (f: Fleet): number =>
  existsSync(join(f.notes, 'runs')) ? readFileSync(join(f.notes, 'runs'), 'utf8').split('\n').length - 1 : 0;

async function envelopeOf(queue: Queue, id: string): Promise<Envelope> {
  return (await queue.getJob(`${id}.1`))?.data as Envelope;
}

test('unsigned, changed and foreign submissions are never executed, and a signed one once', async (t) => {
  const { f, queue, redis } = await attacked(t);
  const id = f.add('jobs/a');
  const { submission, signature } = await envelopeOf(queue, id);
  await queue.remove(`${id}.1`);
  const evil = { ...submission.contract, flags: { ...submission.contract.flags, agent: 'touch "$NOTES/evil"' } };
  const other = new FleetKey('o'.repeat(64));
  const attacks: Record<string, unknown> = {
    'x.1': { submission: { ...submission, contract: evil }, signature },
    'x.2': { submission },
    'x.3': other.seal(submission),
    'x.4': { submission, signature },
    'x.5': { submission: { ...submission, generation: 5 }, signature },
    [`${id}.1`]: { submission: { ...submission, needs: { labels: [] }, after: ['a-0000000000'] }, signature },
    'x.6': 'text',
  };
  for (const [jobId, data] of Object.entries(attacks)) await queue.add('loop', data, { jobId });
  const worker = f.worker('one');
  await until('all are refused', async () => (await redis.hlen(KEYS.refused)) === Object.keys(attacks).length);
  const { refused = {} } = f.ask(['status', '--json']).json as { refused?: Record<string, number> };
  assert.equal(Object.keys(refused).length, Object.keys(attacks).length);
  assert.equal(runs(f), 0);
  assert.equal(existsSync(join(f.notes, 'evil')), false);
  assert.match(f.ask(['status']).stdout, /Refused 1 time, not signed by this fleet: x\.1/);
  // The signed one is worked on: the control.
  await queue.remove(`${id}.1`);
  await queue.add('loop', { submission, signature }, { jobId: `${id}.1` });
  writeFileSync(join(f.notes, 'go'), '');
  const { outcome, sha } = await f.ended(id);
  assert.deepEqual([outcome, runs(f)], ['complete', 2], worker.said());
  const job = `${id}.1`;
  // The result is told before the worker lets the job go.
  await until('the job is removed', async () => (await queue.remove(job)) === 1);
  await queue.add('loop', { submission, signature }, { jobId: job });
  await until('the worker has taken it again', async () => (await queue.getJob(job))?.finishedOn !== undefined);
  const again = await f.ended(id);
  assert.deepEqual([again.outcome, again.sha, runs(f)], ['complete', sha, 2], worker.said());
});

test('commands that are unsigned, changed or repeated are not executed', async (t) => {
  const { f, redis } = await attacked(t);
  const id = f.add('jobs/a');
  f.worker('one');
  await until('the agent works', () => runs(f) === 1);
  assert.equal(f.ask(['steer', id, 'the signed message']).code, 0);
  const stream = `ralph:commands:${id}`;
  const [[, signed = []] = []] = await redis.xrange(stream, '-', '+');
  const changed = (name: string, value: string): string[] =>
    signed.map((word, index) => (index % 2 === 1 && signed[index - 1] === name ? value : word));
  await redis.xadd(stream, '*', ...changed('kind', 'cancel'));
  await redis.xadd(stream, '*', ...changed('text', 'a changed message'));
  await redis.xadd(stream, '*', ...changed('generation', '2'));
  await redis.xadd(stream, '*', ...changed('signature', ''));
  await redis.xadd(stream, '*', 'kind', 'cancel');
  await redis.xadd(stream, '*', ...signed);
  writeFileSync(join(f.notes, 'go'), '');
  const result = await f.ended(id);
  assert.deepEqual([result.outcome, result.iterations], ['complete', 2], result.reason);
  const state = f.git(`show refs/ralph/${id}:state/fleet.json`);
  assert.match(
    f.ask(['status']).stdout,
    new RegExp(`^Refused 5 times, not signed by this fleet: commands of ${id}$`, 'm'),
  );
  const lastId = signed[signed.indexOf('id') + 1];
  assert.equal(JSON.parse(state).lastCommand, lastId);
  const events = f.ask(['logs', id, '--json']).stdout;
  assert.equal(events.includes('a changed message'), false);
});

test('neither key nor credentials of a worker reach the server, the repository or a log', async (t) => {
  const { f, queue, redis } = await attacked(t);
  const id = f.add('jobs/a');
  await queue.pause();
  const planted = ['planted-secret-4711-abcdef', FLEET_KEY];
  writeFileSync(
    join(f.notes, 'agent'),
    'env; echo "it is $DEPLOY_TOKEN"; env | grep -c RALPH_FLEET > "$NOTES/seen"; true',
  );
  await queue.resume();
  writeFileSync(join(f.notes, 'go'), '');
  const one = f.worker('one', [], { DEPLOY_TOKEN: planted[0] });
  await f.ended(id);
  const chatty = f.add('jobs/a', ['--set', `agent=sh "$NOTES/agent"; ./agent.sh`]);
  await f.ended(chatty);
  assert.equal(readFileSync(join(f.notes, 'seen'), 'utf8').trim(), '0');
  await redis.call('BGREWRITEAOF');
  const files = readdirSync(f.base, { recursive: true, encoding: 'utf8' }).filter((path) => /redis\/append/.test(path));
  const objects = f.git('cat-file --batch-all-objects --batch --buffer | cat');
  const logs = f.ask(['logs', chatty, '--json']).stdout + f.ask(['status', '--json']).stdout + one.said();
  for (const secret of planted) {
    assert.equal(objects.includes(secret), false, 'in the repository');
    assert.equal(logs.includes(secret), false, 'in a log');
    for (const path of files) {
      const { status } = spawnSync('grep', ['-qaF', secret, join(f.base, path)]);
      assert.equal(status === 0, false, path);
    }
  }
  assert.ok(logs.includes('it is ***'), 'the agent did say it');
});
