import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type FleetServer, installLine } from '../../../src/fleet/queue/connect.ts';
import { EventReader } from '../../../src/fleet/queue/loop-streams.ts';

test('drops what a worker reports after a newer one has begun, also in a later read', async () => {
  const entries = [1, 2, 1, 2, 3, 2].map((attempt, at): [string, string[]] => {
    return [`${at + 1}-0`, ['attempt', String(attempt), 'event', JSON.stringify({ at: at + 1 })]];
  });
  let there = 0;
  const xrange = (_name: string, from: string) =>
    Promise.resolve(
      entries
        .slice(0, there)
        .filter(([id]) => from === '-' || Number.parseInt(id, 10) > Number.parseInt(from.slice(1), 10)),
    );
  const reader = new EventReader({ redis: { xrange } } as unknown as FleetServer, 'loop');
  const read: unknown[] = [];
  for (there of [2, 3, 6]) read.push((await reader.read()).map(({ event }) => event['at']));
  assert.deepEqual(read, [[1, 2], [], [4, 5]]);
});

test('a read whose server goes away between two answers loses nothing of the first one', async () => {
  const entries = Array.from({ length: 501 }, (_, at): [string, string[]] => [
    `${at}-0`,
    ['attempt', '1', 'event', JSON.stringify({ at })],
  ]);
  let isAway = true;
  const xrange = (_name: string, from: string) => {
    if (from === '-') return Promise.resolve(entries.slice(0, 500));
    return isAway ? Promise.reject(new Error('away')) : Promise.resolve(entries.slice(500));
  };
  const reader = new EventReader({ redis: { xrange } } as unknown as FleetServer, 'loop');
  await assert.rejects(reader.read(), /away/);
  isAway = false;
  assert.deepEqual(
    (await reader.read()).map(({ event }) => event['at']),
    entries.map((_, at) => at),
  );
});

test('the line that installs the packages matches the installation', () => {
  const own = 'node_modules/claude-ralph-loop/dist/plugin';
  assert.match(installLine(`/usr/lib/${own}`, '/p'), /^npm install --global bullmq@6 ioredis@5$/);
  assert.match(installLine(`/home/me/app/${own}`, '/p'), /^npm install --prefix \/home\/me\/app bullmq@6/);
  assert.match(installLine(`/home/me/.npm/_npx/1/${own}`, '/p'), /^npx -p claude-ralph-loop -p bullmq@6 -p ioredis@5/);
  assert.match(installLine('/home/me/.claude/plugins/ralph-loop', '/p'), /^npm install --prefix \/p bullmq@6/);
});
