import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type BreakerSample, CLOSED_BREAKER, sampleBreaker, tripped } from '../../../src/engine/policy/breaker.ts';
import type { Policy } from '../../../src/engine/schema/contract.ts';
import type { BreakerState } from '../../../src/engine/schema/state.ts';

const OFF: Policy['breaker'] = { findings: 0, noProgress: 0, sameReply: 0, sameError: 0, denials: 0, tdd: 0 };
const SILENT: BreakerSample = {
  findings: null,
  reply: null,
  error: null,
  progress: 'unknown',
  toolCalls: 0,
  deniedCalls: 0,
  scenario: null,
};

function shown(...samples: Partial<BreakerSample>[]): BreakerState {
  return samples.reduce<BreakerState>(
    (state, sample) => sampleBreaker(state, { ...SILENT, ...sample }),
    CLOSED_BREAKER,
  );
}

function repeated(count: number, sample: Partial<BreakerSample>): BreakerState {
  return shown(...Array.from({ length: count }, () => sample));
}

describe('a signal that compares an iteration with the one before trips at the fourth equal one', () => {
  const cases: [keyof Policy['breaker'], Partial<BreakerSample>, Partial<BreakerSample>, string][] = [
    ['findings', { findings: 2 }, { findings: 1 }, '2 findings remained for 4 iterations'],
    ['sameReply', { reply: 'abc' }, { reply: 'abd' }, 'the same reply 4 times in a row'],
    ['sameError', { error: 'EACCES' }, { error: 'EPERM' }, 'the same error 4 times in a row: EACCES'],
    ['tdd', { scenario: 'S1' }, { scenario: 'S2' }, 'scenario S1 did not change for 3 iterations'],
  ];
  for (const [signal, same, other, evidence] of cases) {
    const thresholds = { ...OFF, [signal]: 3 };
    test(`${signal}: not at the third`, () => assert.equal(tripped(repeated(3, same), thresholds), null));
    test(`${signal}: at the fourth`, () => {
      assert.deepEqual(tripped(repeated(4, same), thresholds), { signal, repeats: 3, evidence });
    });
    test(`${signal}: and at every later one`, () => assert.equal(tripped(repeated(6, same), thresholds)?.repeats, 5));
    test(`${signal}: not if another came between`, () => {
      assert.equal(tripped(shown(same, same, same, other, same, same, same), thresholds), null);
    });
    test(`${signal}: never when it is off`, () => assert.equal(tripped(repeated(50, same), OFF), null));
  }
});

describe('a signal that counts the iterations themselves trips at the third', () => {
  const cases: [keyof Policy['breaker'], Partial<BreakerSample>, Partial<BreakerSample>, string][] = [
    [
      'denials',
      { toolCalls: 2, deniedCalls: 2 },
      { toolCalls: 2, deniedCalls: 1 },
      'every tool call was denied in 3 iterations in a row',
    ],
    ['noProgress', { progress: 'no' }, { progress: 'yes' }, 'no durable change in 3 iterations'],
  ];
  for (const [signal, same, other, evidence] of cases) {
    const thresholds = { ...OFF, [signal]: 3 };
    test(`${signal}: not at the second`, () => assert.equal(tripped(repeated(2, same), thresholds), null));
    test(`${signal}: at the third`, () => {
      assert.deepEqual(tripped(repeated(3, same), thresholds), { signal, repeats: 3, evidence });
    });
    test(`${signal}: not if another came between`, () => {
      assert.equal(tripped(shown(same, same, other, same, same), thresholds), null);
    });
    test(`${signal}: never when it is off`, () => assert.equal(tripped(repeated(50, same), OFF), null));
  }
});

describe('a streak is unchanged by an iteration that shows nothing of the kind:', () => {
  test('no findings count', () => assert.equal(shown({ findings: 2 }, { findings: 2 }, {}).findings.repeats, 1));
  test('a reply that must not count', () =>
    assert.equal(shown({ reply: 'a' }, { reply: 'a' }, {}).sameReply.repeats, 1));
  test('unknown progress', () => assert.equal(shown({ progress: 'no' }, { progress: 'no' }, {}).noProgress, 2));
  test('no scenario', () => assert.equal(shown({ scenario: 'S1' }, { scenario: 'S1' }, {}).tdd.repeats, 1));
});

test('an iteration without an error ends the streak of errors', () => {
  assert.deepEqual(shown({ error: 'a' }, { error: 'a' }, {}).sameError, { value: null, repeats: 0 });
  assert.equal(shown({ error: 'a' }, {}, { error: 'a' }).sameError.repeats, 0);
});

test('an iteration without tool calls ends the streak of denials', () => {
  assert.equal(shown({ toolCalls: 1, deniedCalls: 1 }, { toolCalls: 0, deniedCalls: 0 }).denials, 0);
});

test('more denials than calls, as late journals can show, count as all calls denied', () => {
  assert.equal(shown({ toolCalls: 1, deniedCalls: 2 }).denials, 1);
});

test('zero findings is a count', () => assert.equal(shown({ findings: 0 }, { findings: 0 }).findings.repeats, 1));

test('if several signals hold, the first in documented order names the trip', () => {
  const all = repeated(4, {
    findings: 1,
    reply: 'a',
    error: 'e',
    progress: 'no',
    toolCalls: 1,
    deniedCalls: 1,
    scenario: 'S',
  });
  const one = { findings: 1, noProgress: 1, sameReply: 1, sameError: 1, denials: 1, tdd: 1 };
  const order = ['findings', 'noProgress', 'sameReply', 'sameError', 'denials', 'tdd'] as const;
  let thresholds: Policy['breaker'] = one;
  for (const signal of order) {
    assert.equal(tripped(all, thresholds)?.signal, signal);
    thresholds = { ...thresholds, [signal]: 0 };
  }
  assert.equal(tripped(all, thresholds), null);
});

test('a breaker without observations is closed', () =>
  assert.equal(tripped(CLOSED_BREAKER, { ...OFF, findings: 1 }), null));
