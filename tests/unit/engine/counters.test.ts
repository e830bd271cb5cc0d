import assert from 'node:assert/strict';
import { test } from 'node:test';
import { atLeast, countersOf, higher, wentBackText, withCounters } from '../../../src/engine/counters.ts';
import type { Counters } from '../../../src/engine/schema/state.ts';
import { running } from './support/loop.ts';

const base = running();
const now = running({
  iteration: 3,
  idleIterations: 2,
  epoch: 2,
  usage: { ...base.usage, inputTokens: 900, outputTokens: 80, cacheReadTokens: 7, cacheWriteTokens: 600, costUsd: 0.5 },
});
const known = countersOf(now);
const SENTENCE = 'The state of the loop was replaced by an older one';

/** What is said of a state that has these values in the place of those that were kept. */
const said = (change: Parameters<typeof running>[0], kept: Counters | null = known): string | null =>
  wentBackText(running({ ...now, ...change }), kept);

test('a state with its own counts, or beside the counters of another loop or of none, did not go back', () => {
  assert.equal(said({}), null);
  assert.equal(said({ iteration: 1 }, null), null);
  assert.equal(said({ iteration: 1 }, { ...known, loopId: 'another' }), null);
  assert.equal(said({ iteration: 4 }), null, 'it went on');
});

test('a state that went back is told with each count that is lower, and the others are left out', () => {
  const end = 'the loop continues from the higher counts.';
  assert.equal(said({ iteration: 1 }), `${SENTENCE} (iteration 3 -> 1); ${end}`);
  assert.equal(said({ idleIterations: 0 }), `${SENTENCE} (idle iterations 2 -> 0); ${end}`);
  assert.equal(said({ epoch: 1 }), `${SENTENCE}; ${end}`, 'an epoch says nothing to a person');
  const fewer = { ...now.usage, inputTokens: 400, costUsd: null };
  assert.equal(
    said({ iteration: 2, usage: fewer }),
    `${SENTENCE} (iteration 3 -> 2, tokens 1580 -> 1080, cost $0.50 -> $0.00); ${end}`,
  );
});

test('counts are raised to the kept ones, one by one, and higher ones stay', () => {
  const behind = running({ ...now, iteration: 5, epoch: 1, usage: { ...now.usage, outputTokens: 10, costUsd: null } });
  const raised = atLeast(behind, known);
  assert.deepEqual([raised.iteration, raised.idleIterations, raised.epoch], [5, 2, 2]);
  assert.deepEqual(raised.usage, now.usage);
  assert.equal(atLeast(now, known), now, 'nothing is behind');
  assert.equal(atLeast(behind, { ...known, loopId: 'another' }), behind);
  assert.equal(atLeast(behind, null), behind);
});

test('a cost is never lowered, whichever of the two has counted more tokens', () => {
  const costs = (own: number | null, kept: number | null): number | null => {
    const behind = running({ ...now, usage: { ...now.usage, inputTokens: 1, costUsd: own } });
    return atLeast(behind, { ...known, usage: { ...known.usage, costUsd: kept } }).usage.costUsd;
  };
  assert.deepEqual([costs(0.75, 0.5), costs(0.25, 0.5), costs(null, 0.5)], [0.75, 0.5, 0.5]);
  assert.deepEqual([costs(0.75, null), costs(null, null)], [0.75, null]);
});

test('of two counters of a loop the higher is taken, and those of another loop do not count', () => {
  const lower = countersOf(running({ ...now, iteration: 1, idleIterations: 9 }));
  const other = { ...known, loopId: 'another' };
  assert.equal(higher(known, countersOf(running({ ...now, iteration: 1 })), now.loopId), known);
  assert.deepEqual(higher(lower, known, now.loopId), { ...known, iteration: 3, idleIterations: 9 });
  assert.equal(higher(other, known, now.loopId), known);
  assert.equal(higher(known, other, now.loopId), known);
  assert.equal(higher(null, other, now.loopId), null);
});

test('a state that was put back has read what the kept position says, but of calls what it says itself', () => {
  const marks = { ...now.marks, transcriptPath: '/t.jsonl', transcriptBytes: 4_000 };
  const kept = { ...known, marks, stoppedMs: 5, asleepMs: 7 };
  const back = withCounters(running({ ...now, iteration: 1, marks: { ...now.marks, callsBytes: 10 } }), kept);
  assert.equal(back.iteration, 3);
  assert.deepEqual([back.marks.transcriptBytes, back.marks.callsBytes], [4_000, 10]);
  assert.deepEqual([back.stoppedMs, back.stoppedUntil, back.asleepMs], [5, undefined, 7]);
});
