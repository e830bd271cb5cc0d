import assert from 'node:assert/strict';
import { test } from 'node:test';
import { installLine } from '../../../src/fleet/queue/connect.ts';
import { withoutStale } from '../../../src/fleet/queue/events.ts';

const event = (id: string, attempt: number) => ({ id, attempt, event: { type: 'notice' } });

test('drops what a worker reports after a newer one has begun', () => {
  const all = [event('1', 1), event('2', 2), event('3', 1), event('4', 2), event('5', 3), event('6', 2)];
  assert.deepEqual(
    withoutStale(all).map(({ id }) => id),
    ['1', '2', '4', '5'],
  );
});

test('the line that installs the packages matches the installation', () => {
  const own = 'node_modules/claude-ralph-loop/dist/plugin';
  assert.match(installLine(`/usr/lib/${own}`, '/p'), /^npm install --global bullmq@6 ioredis@5$/);
  assert.match(installLine(`/home/me/app/${own}`, '/p'), /^npm install --prefix \/home\/me\/app bullmq@6/);
  assert.match(installLine(`/home/me/.npm/_npx/1/${own}`, '/p'), /^npx -p claude-ralph-loop -p bullmq@6 -p ioredis@5/);
  assert.match(installLine('/home/me/.claude/plugins/ralph-loop', '/p'), /^npm install --prefix \/p bullmq@6/);
});
