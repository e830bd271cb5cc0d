import assert from 'node:assert/strict';
import { test } from 'node:test';
import { journalLine } from '../../../src/cli/show/journal-line.ts';

test('a rejected claim shows its checks with their output, line by line', () => {
  const at = '2026-03-01T10:00:00Z';
  const reasons = ['sh check.sh: exit code 1.\nMISMATCH want 13 got 4\n\u001b[31mbad\u001b[0m'];
  const line = journalLine(
    { type: 'completion.rejected', at, loopId: 'a', iteration: 1, reasons },
    (_style, text) => text,
  );
  assert.deepEqual(line.split('\n').slice(1), ['  sh check.sh: exit code 1.', '    MISMATCH want 13 got 4', '    bad']);
  assert.doesNotMatch(line, /\\n|"/);
});

test('shows a nested detail in words, without null values', () => {
  const entry = {
    type: 'loop.started',
    at: '2026-03-01T10:00:00Z',
    loopId: 'a',
    limits: { maxCostUsd: null, maxTimeMs: null },
    breaker: { findings: 3 },
    checks: [
      { name: 'tests', run: 'npm test' },
      { name: 'lint', run: 'npm run lint' },
    ],
  };
  const line = journalLine(entry, (_style, text) => text);
  assert.match(line, /loop\.started {2}checks: name tests, run npm test, name lint, run npm run lint$/);
});

test('times and counts of an event are shown in words, and other keys as words', () => {
  const at = '2026-03-01T10:00:00Z';
  const idle = { type: 'iteration.idle', at, loopId: 'a', iteration: 1, delayMs: 900_000, idleElapsedMs: 0 };
  const plain = (_style: string, text: string): string => text;
  assert.match(journalLine({ ...idle, consecutiveIdle: 1 }, plain), /iteration\.idle {2}waits 15m, nothing to do$/);
  assert.match(
    journalLine({ ...idle, consecutiveIdle: 3, idleElapsedMs: 61_000, states: ['idle'] }, plain),
    /waits 15m, idle for 1m 1s, nothing to do 3 times in a row, states: idle$/,
  );
  const accepted = { type: 'operator.accept', at, loopId: 'a', contractHash: 'abc' };
  assert.match(journalLine(accepted, plain), /operator\.accept {2}contract hash: abc$/);
});

test('the reason of an end is not repeated before the message that begins with it', () => {
  const at = '2026-03-01T10:00:00Z';
  const [reason, message] = ['Stopped at the limit.', 'Stopped at the limit. Grant more: ralph-loop resume.'];
  const entry = { type: 'run.ended', at, status: 'max-iterations', reason, code: 2, message };
  assert.match(
    journalLine(entry, (_style, text) => text),
    /run\.ended {2}max-iterations; code: 2; Stopped at the limit\. Grant more: ralph-loop resume\.$/,
  );
});
