import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { CheckResult } from '../../../src/engine/events.ts';
import { reasonText } from '../../../src/engine/messages.ts';
import { transition } from '../../../src/engine/transition.ts';
import {
  after,
  at,
  awaitingConsent,
  effect,
  paused,
  policy,
  recorded,
  running,
  SIGNAL,
  saying,
  step,
  turnEnded,
  verifying,
} from './support/loop.ts';

const ok = (name: string): CheckResult => ({ name, outcome: 'ok', detail: '' });
const failed = (name: string, detail = '2 tests fail'): CheckResult => ({ name, outcome: 'failed', detail });
const verified = (...results: CheckResult[]) => ({ type: 'verified', at: at(70), results }) as const;

describe('an agent that reaches the limit without a claim', () => {
  const last = (more: object) =>
    after(running({ iteration: 24, maxIterations: 25 }), policy(), turnEnded('Fixed.', { at: at(60), ...more }));

  test('has its checks run, which do not complete the loop and which the end names', () => {
    const { state, effects } = last({ hasChecks: true });
    assert.deepEqual(state.status === 'verifying' && state.verifying, { since: at(60), unclaimed: true });
    assert.deepEqual([recorded(effects), step(effects)?.type], [['iteration.completed'], 'verify']);
    const passed = transition(state, verified(ok('tests')), policy()).state;
    assert.ok(passed.status === 'ended');
    assert.deepEqual([passed.ended.as, passed.ended.verified, passed.checks?.length], ['max-iterations', false, 1]);
    assert.match(passed.ended.message, /The checks pass now, but the agent did not say that it was done\./);
    const short = transition(
      state,
      verified(failed('tests', '1 of 2 tests fails: adds: 1 !== 2\nraw')),
      policy(),
    ).state;
    assert.match(
      short.status === 'ended' ? short.ended.message : '',
      /A check fails: tests: 1 of 2 tests fails: adds: 1 !== 2\./,
    );
  });

  test('ends without them once the user has asked for a pause', () => {
    const asked = running({ iteration: 24, maxIterations: 25, pauseRequested: true });
    const { state, effects } = after(asked, policy(), turnEnded('Fixed.', { at: at(60), hasChecks: true }));
    assert.deepEqual([state.status, step(effects)?.type], ['ended', 'allow']);
  });

  test('ends without them if its time is up as well', () => {
    const { state, effects } = after(
      running({ iteration: 24, maxIterations: 25 }),
      policy({ budget: { ...policy().budget, maxTimeMs: 60_000 } }),
      turnEnded('Fixed.', { at: at(60), hasChecks: true }),
    );
    assert.deepEqual([state.status === 'ended' && state.ended.as, step(effects)?.type], ['max-iterations', 'allow']);
  });

  test('ends by its limit if the time is up during the checks', () => {
    const { state } = last({ hasChecks: true });
    const timeUp = {
      type: 'budget-reached',
      at: at(70),
      budget: { name: 'max_time', used: 70_000, limit: 60_000, text: '70s of 1m', more: '2m' },
      cut: 'checks',
    } as const;
    const ended = transition(state, timeUp, policy()).state;
    assert.ok(ended.status === 'ended');
    assert.equal(ended.ended.as, 'max-iterations');
    const claimed = transition(verifying(), timeUp, policy()).state;
    assert.ok(claimed.status === 'ended');
    assert.equal(claimed.ended.as, 'budget-exhausted', 'control: a claim was being checked');
    assert.match(claimed.ended.message, /The checks of the last claim were cut short/);
  });

  test('control: ends at once if it has no checks, or if its iteration failed', () => {
    assert.equal(last({}).state.status, 'ended');
    const failing = policy({ pace: { ...policy().pace, stopOnError: true } });
    const begun = running({ iteration: 24, maxIterations: 25 });
    assert.equal(after(begun, failing, turnEnded('', { hasChecks: true, error: 'overloaded' })).state.status, 'ended');
  });
});

describe('a claim of completion', () => {
  test('is counted and verified before anything else is decided', () => {
    const { state, effects } = after(running({ iteration: 3 }), policy(), turnEnded(SIGNAL, { at: at(60) }));
    assert.deepEqual(state.status === 'verifying' && state.verifying, { since: at(60) });
    assert.deepEqual([state.iteration, state.lastRunAt], [4, at(60)]);
    assert.deepEqual(state.lastDecision, { at: at(60), kind: 'verify', detail: 'completion claimed' });
    assert.deepEqual(recorded(effects), ['iteration.completed', 'completion.claimed']);
    assert.equal(step(effects)?.type, 'verify');
    const { claimed, decision } = effect(effects, 'record-iteration').record;
    assert.deepEqual([claimed, decision], [true, 'claimed']);
  });

  test('is accepted when every check passed', () => {
    const { state, effects } = transition(verifying(), verified(ok('tests'), ok('types')), policy());
    assert.ok(state.status === 'ended');
    assert.deepEqual(state.ended, {
      at: at(70),
      as: 'complete',
      message:
        'Complete after 1 iteration, verified by 2 checks. Whether the checks passed before the start is unknown.',
      proof: 'green',
      verified: true,
    });
    assert.equal(saying(effects, 'loop.ended')['verified'], true);
    assert.equal(effect(effects, 'archive').as, 'complete');
  });

  test('is accepted by a single check, and the message counts it', () => {
    const { state } = transition(verifying({ iteration: 3 }), verified(ok('tests')), policy());
    assert.equal(
      state.status === 'ended' && state.ended.message,
      'Complete after 3 iterations, verified by 1 check. Whether the checks passed before the start is unknown.',
    );
  });

  test('is accepted without a check, and the end says that nothing was verified', () => {
    const { state } = transition(verifying(), verified(), policy());
    assert.ok(state.status === 'ended');
    assert.deepEqual([state.ended.as, state.ended.verified], ['complete', false]);
    assert.match(
      state.ended.message,
      /^Complete after 1 iteration, unverified: no checks are configured\. Add "validation:"/,
    );
  });

  test('is rejected when one check failed, and the next prompt says why', () => {
    const { state, effects } = transition(verifying(), verified(ok('types'), failed('tests')), policy());
    assert.deepEqual([state.status, state.turn], ['running', 'agent']);
    assert.deepEqual(effect(effects, 'prompt').notices.rejection, ['tests: 2 tests fail']);
    assert.deepEqual(effect(effects, 'notify'), {
      type: 'notify',
      message: 'Completion rejected: tests.\n  tests: 2 tests fail',
    });
    assert.deepEqual(saying(effects, 'completion.rejected')['reasons'], ['tests: 2 tests fail']);
    assert.deepEqual(state.notices.rejection, []);
  });

  for (const outcome of ['timeout', 'vacuous', 'changed', 'unavailable'] as const) {
    test(`is rejected by a check that is ${outcome}, and the reason says so`, () => {
      const result: CheckResult = { name: 'tests', outcome, detail: 'after 60 s' };
      const { effects } = transition(verifying(), verified(result), policy());
      assert.deepEqual(effect(effects, 'prompt').notices.rejection, [`tests: ${outcome}: after 60 s`]);
    });
  }

  test('at the last iteration ends at max-iterations when it is rejected', () => {
    const { state } = transition(verifying({ iteration: 25 }), verified(failed('tests')), policy());
    assert.equal(state.status === 'ended' && state.ended.as, 'max-iterations');
  });

  test('at the last iteration completes when it is accepted', () => {
    const { state } = transition(verifying({ iteration: 25 }), verified(ok('tests')), policy());
    assert.equal(state.status === 'ended' && state.ended.as, 'complete');
  });

  test('after a stop request is accepted, or ends as stopped', () => {
    const stopping = verifying({ stopRequested: true });
    const accepted = transition(stopping, verified(ok('tests')), policy()).state;
    assert.equal(accepted.status === 'ended' && accepted.ended.as, 'complete');
    const rejected = transition(stopping, verified(failed('tests')), policy()).state;
    assert.equal(rejected.status === 'ended' && rejected.ended.as, 'stopped');
  });

  test('in a promise loop is the promise', () => {
    const promised = policy({ completion: { kind: 'promise', text: 'DONE' } });
    assert.equal(after(running(), promised, turnEnded('<promise>DONE</promise>')).state.status, 'verifying');
    assert.equal(after(running(), promised, turnEnded(SIGNAL)).state.status, 'running');
  });
});

describe('a gate that fails', () => {
  const claim = (detail: string) =>
    [turnEnded(SIGNAL), verified(failed('tests', detail), failed('types', 'x'))] as const;

  test('adds no sign the first time', () => {
    const { effects } = after(running(), policy(), ...claim('one'));
    assert.equal(
      effects.some(({ type }) => type === 'add-sign'),
      false,
    );
  });

  test('tells the user every check that failed, and nothing else', () => {
    const { effects } = after(running(), policy(), ...claim('one'));
    assert.deepEqual(
      effects.map(({ type }) => type),
      ['record-event', 'notify', 'prompt'],
    );
    assert.equal(effect(effects, 'notify').message, 'Completion rejected: tests, types.\n  tests: one\n  types: x');
  });

  test('for a changed script tells the user how to adopt it', () => {
    const changed = { name: 'types', outcome: 'changed', detail: 'check.sh was changed' } as const;
    const { effects } = transition(verifying(), verified(failed('tests'), changed), policy());
    assert.equal(
      effect(effects, 'notify').message,
      [
        'Completion rejected: tests, types. Not run because a script changed during the loop: types. Review the change, then adopt it: ralph-loop accept.',
        '  tests: 2 tests fail',
        '  types: changed: check.sh was changed',
      ].join('\n'),
    );
  });

  test('shows the user its exit code and the last 15 lines of its output', () => {
    const output = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`);
    const { effects } = after(running(), policy(), ...claim(['exit code 1.', ...output].join('\n')));
    const [, head, mark, ...shown] = effect(effects, 'notify').message.split('\n');
    assert.deepEqual([head, mark], ['  tests: exit code 1.', '    [Show 25 more lines: ralph-loop logs.]']);
    assert.deepEqual(
      shown.slice(0, 15),
      output.slice(-15).map((line) => `    ${line}`),
    );
    assert.deepEqual(shown.slice(15), ['  types: x']);
  });

  test('only counts the output below the names of failed tests', () => {
    const failures = [{ name: 'adds', message: '1 !== 2', file: null, line: null }];
    const named = {
      ...failed('tests', '1 of 4 tests fails: adds\nraw\nmore'),
      tests: { run: 4, failed: 1, skipped: 0, failures },
    };
    const { effects } = after(running(), policy(), turnEnded(SIGNAL), verified(named));
    const [, ...shown] = effect(effects, 'notify').message.split('\n');
    assert.deepEqual(shown, ['  tests: 1 of 4 tests fails: adds', '    [Show 2 more lines: ralph-loop logs.]']);
  });

  test('adds a sign the second time for the same reason', () => {
    const { effects } = after(running(), policy(), ...claim('one'), ...claim('two'));
    assert.deepEqual(effect(effects, 'add-sign').sign, {
      name: 'Completion rejected twice: tests, types',
      trigger: 'Before claiming completion while tests, types may still fail.',
      instruction: 'Run each failed command yourself and read its output to the end; write each missing file.',
      addedAfter: 'tests: two; types: x',
    });
  });

  test('adds no second sign the third time for the same reason', () => {
    const { effects } = after(running(), policy(), ...claim('one'), ...claim('two'), ...claim('three'));
    assert.equal(
      effects.some(({ type }) => type === 'add-sign'),
      false,
    );
  });

  test('adds no sign if the second time has another reason', () => {
    for (const other of [failed('lint'), { ...failed('tests'), outcome: 'timeout' } as const]) {
      const { effects } = after(
        running(),
        policy(),
        turnEnded(SIGNAL),
        verified(failed('tests')),
        turnEnded(SIGNAL),
        verified(other),
      );
      assert.equal(
        effects.some(({ type }) => type === 'add-sign'),
        false,
      );
    }
  });

  test('with pages of output adds a short sign', () => {
    const { effects } = after(running(), policy(), ...claim('y'.repeat(9_000)), ...claim('y'.repeat(9_000)));
    assert.equal(effect(effects, 'add-sign').sign.addedAfter.length, 300);
  });
});

describe('a verdict that comes too late', () => {
  test('does not change a loop that was paused meanwhile, and the turn ends with the reason', () => {
    const { state, effects } = transition(paused(), verified(ok('tests')), policy());
    assert.deepEqual([state.status, state.turn], ['paused', 'rest']);
    assert.deepEqual(effects, [{ type: 'allow', message: 'paused for a test' }]);
  });

  test('does not change a loop that continued or awaits consent', () => {
    for (const before of [running({ iteration: 3 }), awaitingConsent()]) {
      const { state, effects } = transition(before, verified(ok('tests')), policy());
      assert.deepEqual([state, effects], [before, [{ type: 'allow', message: null }]]);
    }
  });
});

test('a plain failure is not explained twice', () => {
  assert.equal(reasonText(failed('tests')), 'tests: 2 tests fail');
});

test('a loop keeps the result of each check, with the first line of why it failed', () => {
  const results = [
    { name: 'tests', outcome: 'ok', detail: 'all is well' },
    { name: 'lint', outcome: 'failed', detail: `${'x'.repeat(500)}\nsecond` },
    { name: 'types', outcome: 'timeout', detail: '' },
  ] as const;
  const { state } = transition(verifying(), { type: 'verified', at: at(9), results: [...results] }, policy());
  assert.deepEqual(state.checks, [
    { name: 'tests', outcome: 'ok' },
    { name: 'lint', outcome: 'failed', why: 'x'.repeat(400) },
    { name: 'types', outcome: 'timeout' },
  ]);
});
