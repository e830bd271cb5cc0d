import assert from 'node:assert/strict';
import { test } from 'node:test';
import { iterationTable } from '../../../src/cli/show/journal-line.ts';
import { painter } from '../../../src/term/format.ts';

const usage = { inputTokens: 100, outputTokens: 20, cacheReadTokens: 1_000, cacheWriteTokens: 80 };
const record = (iteration: number, more: object): Record<string, unknown> => ({
  ...{ loopId: 'l', iteration, idleIterations: 0, kind: 'working', durationMs: iteration * 30_000, findings: null },
  ...{ toolCalls: 3, outputTokens: 20, decision: 'running', ...more },
});
const agent = { model: 'claude-x', turns: 4, durationMs: 29_000, costUsd: 0.125, usage };
const entries = [
  record(1, { agent, findings: 8 }),
  record(2, { agent: { ...agent, costUsd: 0.5 }, findings: 2 }),
  record(2, { kind: 'idle', idleIterations: 1, outputTokens: null }),
];

const PLAIN = painter(false, {});

test('the table of iterations has the figures of each and a dash for an unknown one', () => {
  assert.equal(
    iterationTable(entries, PLAIN, Number.POSITIVE_INFINITY),
    [
      'iteration  kind     time  cost   tokens  findings  then',
      '1          working  30s   $0.13  200     8         the next one',
      '2          working  1m    $0.50  200     2         the next one',
      '2          idle     1m    -      -       -         the next one',
    ].join('\n'),
  );
});

test('a loop in a session without a known cost has no cost column', () => {
  assert.equal(
    iterationTable([record(1, {})], PLAIN, Number.POSITIVE_INFINITY),
    ['iteration  kind     time  tokens  then', '1          working  30s   20      the next one'].join('\n'),
  );
});

test('a narrow table leaves out columns before a line would wrap', () => {
  for (const width of [50, 40]) {
    const lines = iterationTable(entries, PLAIN, width).split('\n');
    assert.ok(
      lines.every(({ length }) => length <= width),
      lines.join('\n'),
    );
    assert.match(lines[0] ?? '', /^iteration .*cost .*then$/);
  }
  const [whole = ''] = iterationTable(entries, PLAIN, Number.POSITIVE_INFINITY).split('\n');
  assert.ok(whole.length > 50, 'control: the whole table is wider');
});

test('a journal with odd values cannot move the cursor or break the table', () => {
  const odd = record(1, {
    durationMs: '\u001b[2J',
    findings: -3,
    agent: { costUsd: 'much', model: 'a\u001b[1A b\nc', usage: 7 },
  });
  const shown = iterationTable([odd], PLAIN, Number.POSITIVE_INFINITY);
  assert.doesNotMatch(shown, /\u001b/);
  assert.equal(shown.split('\n').length, 2);
});
