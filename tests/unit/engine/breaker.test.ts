import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CheckResult } from '../../../src/engine/events.ts';
import { type BreakerSample, CLOSED_BREAKER, sampleBreaker, tripped } from '../../../src/engine/policy/breaker.ts';
import type { Policy } from '../../../src/engine/schema/contract.ts';
import type { BreakerState, LoopState } from '../../../src/engine/schema/state.ts';
import { transition } from '../../../src/engine/transition.ts';
import { at, policy, verifying } from './support/loop.ts';

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

describe('claims that are refused in turn', () => {
  const thresholds = { ...OFF, sameReply: 3 };
  const results: CheckResult[] = [{ name: 'tests', outcome: 'failed', detail: '1 of 2 tests fails' }];

  /** Returns the state after as many refused claims, of which `known` says what is known of the project. */
  function refused(claims: number, known: Partial<LoopState>): LoopState {
    let state: LoopState = verifying(known);
    for (let claim = 1; claim <= claims; claim++) {
      const next = transition(state, { type: 'verified', at: at(70), results }, policy()).state;
      state = verifying({ ...known, breaker: next.breaker });
    }
    return state;
  }
  const said = (claims: number, known: Partial<LoopState>) => tripped(refused(claims, known).breaker, thresholds);

  test('trip at the fourth with the same results while the project stays as it is', () => {
    assert.equal(said(3, { projectMark: 'a' }), null);
    assert.equal(
      said(4, { projectMark: 'a' })?.evidence,
      '4 claims in a row were refused for the same reason, and no file changed',
    );
    assert.equal(said(4, { projectMark: null, unknownProgress: 1 })?.repeats, 3);
  });

  test('do not count where nothing is known of the project, nor across a change of it', () => {
    assert.equal(said(9, { projectMark: null }), null);
    const { breaker } = refused(3, { projectMark: 'a' });
    const after = transition(
      verifying({ projectMark: 'b', breaker }),
      { type: 'verified', at: at(70), results },
      policy(),
    );
    assert.equal(after.state.breaker.sameRefusal?.repeats, 0);
  });

  test('are counted on over iterations that changed nothing, and anew after one that did', () => {
    const { breaker } = refused(3, { projectMark: 'a' });
    assert.equal(sampleBreaker(breaker, SILENT).sameRefusal, breaker.sameRefusal);
    assert.equal(sampleBreaker(breaker, { ...SILENT, progress: 'no' }).sameRefusal, breaker.sameRefusal);
    assert.equal(sampleBreaker(breaker, { ...SILENT, progress: 'yes' }).sameRefusal, undefined);
  });
});

test('a breaker without observations is closed', () =>
  assert.equal(tripped(CLOSED_BREAKER, { ...OFF, findings: 1 }), null));
