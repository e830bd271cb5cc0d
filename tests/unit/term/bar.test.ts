import assert from 'node:assert/strict';
import { test } from 'node:test';
import { iterationColumns, iterationTable } from '../../../src/cli/show/journal-line.ts';
import { bar, painter } from '../../../src/term/format.ts';
import fc from '../../support/property.ts';

test('a bar is as long as its value, to an eighth of a cell, and anything above zero is visible', () => {
  assert.equal(bar(6, 6, 6), '██████');
  assert.equal(bar(3, 6, 6), '███');
  assert.equal(bar(1, 16, 2), '▏');
  assert.equal(bar(0.0001, 100, 6), '▏');
  assert.deepEqual([bar(0, 5, 6), bar(5, 0, 6), bar(Number.NaN, 5, 6), bar(-1, 5, 6)], ['', '', '', '']);
});

test('a bar stays within its cells, and a greater value has no shorter bar', () => {
  const length = (one: number): number => [...bar(one, 1_000, 6)].length;
  fc.assert(
    fc.property(
      fc.double({ min: 0, max: 2_000, noNaN: true }),
      fc.double({ min: 0, max: 2_000, noNaN: true }),
      (a, b) => {
        assert.ok(length(a) <= 6);
        if (a <= b) assert.ok(length(a) <= length(b));
      },
    ),
  );
});

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

test('the table of iterations draws each value relative to the greatest and leaves unknown ones out', () => {
  assert.equal(
    iterationTable(entries, painter(false, {})),
    [
      '        time        cost          tokens      findings',
      '1       30s ███     $0.13 █▌      200 ██████  8 ██████',
      '2        1m ██████  $0.50 ██████  200 ██████  2 █▌',
      'idle 1   1m ██████      -           -         -',
    ].join('\n'),
  );
});

test('a loop in a session without a known cost has no cost column', () => {
  const table = iterationTable([record(1, {})], painter(false, {}));
  assert.equal(table, ['   time        tokens', '1  30s ██████  20 ██████'].join('\n'));
});

test('a pipe gets figures as they are everywhere, with the same columns on every line', () => {
  const lines = iterationColumns(entries)
    .split('\n')
    .map((line) => line.split(/ {2,}/));
  assert.deepEqual(lines[0]?.slice(0, 8), [
    ...['iteration', 'kind', 'time', 'cost', 'inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheWriteTokens'],
  ]);
  assert.deepEqual(lines[1], [
    '1',
    'working',
    '30s',
    '$0.13',
    '100',
    '20',
    '1000',
    '80',
    '4',
    '3',
    '8',
    'running',
    'claude-x',
  ]);
  assert.equal(new Set(lines.map(({ length }) => length)).size, 1);
});

test('a journal with odd values cannot move the cursor or break the table', () => {
  const odd = record(1, {
    durationMs: '\u001b[2J',
    findings: -3,
    agent: { costUsd: 'much', model: 'a\u001b[1A b\nc', usage: 7 },
  });
  assert.doesNotMatch(iterationColumns([odd]) + iterationTable([odd], painter(false, {})), /\u001b/);
  assert.equal(iterationColumns([odd]).split('\n').length, 2);
});
