import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FleetKey } from '../../src/fleet/job.ts';
import { FleetServer, loadPackages } from '../../src/fleet/queue/connect.ts';
import { readCommands, sendCommand } from '../../src/fleet/queue/loop-streams.ts';
import { FLEET_KEY } from '../support/fleet/fleet.ts';
import { redisServer } from '../support/fleet/redis-server.ts';

const KEY = new FleetKey(FLEET_KEY);
const LOOP = { loopId: 'docs-0123456789', generation: 1 };
const asked = (text: string) => ({ kind: 'steer', text, loop: LOOP.loopId, generation: 1, by: 'me@here' }) as const;

async function connected(t: TestContext, url: string): Promise<FleetServer> {
  const server = await FleetServer.connect(loadPackages(process.cwd(), process.cwd()), url);
  t.after(() => server.close());
  return server;
}

test('a command is new to a worker that has applied all earlier ones, although clocks were set back', async (t) => {
  const { url } = await redisServer(t);
  const server = await connected(t, url);
  const first = await sendCommand(server, KEY, asked('first'));
  server.now = async () => Date.parse(first.at) - 60_000;
  const second = await sendCommand(server, KEY, asked('second'));
  const third = await sendCommand(server, KEY, asked('third'));
  const read = async (last: string | null) =>
    (await readCommands(server, KEY, LOOP, last)).commands.map(({ text }) => text);
  assert.deepEqual(await read(null), ['first', 'second', 'third']);
  assert.deepEqual(await read(first.id), ['second', 'third']);
  assert.deepEqual(await read(second.id), ['third']);
  assert.deepEqual(await read(third.id), []);
});

test('concurrent commands of many senders have different positions, in the order of the stream', async (t) => {
  const { url } = await redisServer(t);
  const senders = await Promise.all(Array.from({ length: 8 }, () => connected(t, url)));
  await Promise.all(senders.map((server, index) => sendCommand(server, KEY, asked(`${index}`))));
  const [server] = senders;
  assert.ok(server !== undefined);
  const entries = await server.redis.xrange(`ralph:commands:${LOOP.loopId}`, '-', '+');
  const ids = entries.map(([, fields]) => fields[fields.indexOf('id') + 1] ?? '');
  assert.equal(ids.length, 8);
  assert.deepEqual(ids, [...ids].sort());
  assert.equal(new Set(ids).size, 8);
});

test('commands that one sender gives at once, over one connection, keep the order of the stream', async (t) => {
  const { url } = await redisServer(t);
  const server = await connected(t, url);
  await Promise.all(Array.from({ length: 8 }, (_, index) => sendCommand(server, KEY, asked(`${index}`))));
  const entries = await server.redis.xrange(`ralph:commands:${LOOP.loopId}`, '-', '+');
  const ids = entries.map(([, fields]) => fields[fields.indexOf('id') + 1] ?? '');
  assert.equal(new Set(ids).size, 8);
  assert.deepEqual(ids, [...ids].sort());
});
