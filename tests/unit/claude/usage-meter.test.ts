import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { UsageDelta } from '../../../src/engine/events.ts';
import { usageMeter } from '../../../src/hosts/claude/agent/start-claude.ts';
import fc from '../../support/property.ts';

const tokens = (inputTokens: number, outputTokens: number, read = 0, write = 0): UsageDelta => ({
  ...{ inputTokens, outputTokens, cacheReadTokens: read, cacheWriteTokens: write },
});

test('counts a message of many lines once, with all of its output', () => {
  const meter = usageMeter();
  assert.deepEqual(meter.read(), { usage: null, costUsd: null });
  meter.begin('a');
  for (let line = 0; line < 3; line++) meter.note('a', tokens(100, 1, 7, 5));
  meter.note('of a subagent', tokens(1_000, 1));
  meter.note(null, tokens(100, 40, 7, 5));
  assert.deepEqual(meter.read(), { usage: tokens(1_100, 41, 7, 5), costUsd: null });
});

test('takes the client’s own totals where they are higher, and its cost', () => {
  const meter = usageMeter();
  meter.begin('a');
  meter.note('a', tokens(100, 1));
  meter.total(tokens(130, 9), 0.5);
  assert.deepEqual(meter.read(), { usage: tokens(130, 9), costUsd: 0.5 });
  meter.begin('b');
  meter.note('b', tokens(10, 1));
  assert.deepEqual(
    meter.read(),
    { usage: tokens(140, 10), costUsd: null },
    'the cost of another turn is not known yet',
  );
  meter.total(tokens(140, 12), 0.75);
  assert.deepEqual(meter.read(), { usage: tokens(140, 12), costUsd: 0.75 });
});

test('totals without a token, as of an interrupted first request, leave the cost unknown', () => {
  const meter = usageMeter();
  meter.total(tokens(0, 0), 0);
  assert.deepEqual(meter.read(), { usage: null, costUsd: null });
  meter.begin('a');
  meter.note('a', tokens(100, 1));
  meter.total(tokens(0, 0), 0);
  assert.deepEqual(meter.read(), { usage: tokens(100, 1), costUsd: null });
});

test('control: totals that count tokens cost what the client says, even nothing', () => {
  const meter = usageMeter();
  meter.total(tokens(100, 1), 0);
  assert.deepEqual(meter.read(), { usage: tokens(100, 1), costUsd: 0 });
});

test('token counts only grow and cover all messages, in any order of their lines', () => {
  const count = fc.nat(1_000);
  const message = fc.tuple(count, count, fc.nat(3));
  fc.assert(
    fc.property(fc.array(message, { maxLength: 20 }), (messages) => {
      const meter = usageMeter();
      let before = 0;
      messages.forEach(([input, output, lines], nth) => {
        meter.begin(`m${nth}`);
        for (let line = 0; line <= lines; line++) meter.note(`m${nth}`, tokens(input, Math.min(1, output)));
        meter.note(null, tokens(input, output));
        const now = meter.read().usage?.inputTokens ?? 0;
        assert.ok(now >= before);
        before = now;
      });
      const sum = (at: 0 | 1): number => messages.reduce((all, each) => all + each[at], 0);
      const { usage } = meter.read();
      assert.deepEqual([usage?.inputTokens ?? 0, usage?.outputTokens ?? 0], [sum(0), sum(1)]);
    }),
  );
});
