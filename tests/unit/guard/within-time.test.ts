import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withinTime } from '../../../src/guard/commands/within-time.ts';

describe('work within a time limit', () => {
  it('returns its result', () => {
    assert.deepEqual(
      withinTime(50, () => 7),
      { value: 7 },
    );
    assert.deepEqual(
      withinTime(50, () => null),
      { value: null },
    );
  });
  it('is stopped in the middle of a regular expression', () => {
    const pattern = /^(a+)+$/;
    const text = `${'a'.repeat(40)}!`;
    assert.equal(
      withinTime(20, () => pattern.test(text)),
      null,
    );
  });
  it('is stopped in an endless loop, and keeps what it set by then', () => {
    let rounds = 0;
    assert.equal(
      withinTime(20, () => {
        for (;;) rounds += 1;
      }),
      null,
    );
    assert.ok(rounds > 0);
  });
  it('is started again if it was only delayed', () => {
    let begun = 0;
    const wait = new Int32Array(new SharedArrayBuffer(4));
    const slept = withinTime(50, () => {
      begun += 1;
      // The first time the processor has nothing to do for longer than the limit.
      if (begun === 1) Atomics.wait(wait, 0, 0, 80);
      return begun;
    });
    // Other programs can hold a later try up as well.
    assert.ok(slept !== null && slept.value >= 2, JSON.stringify(slept));
  });
  it('gets longer tries on a machine that delays each of them', () => {
    const wait = new Int32Array(new SharedArrayBuffer(4));
    assert.deepEqual(
      withinTime(20, () => Atomics.wait(wait, 0, 0, 60)),
      { value: 'timed-out' },
    );
  });
  it('that throws rethrows its error and leaves nothing behind', () => {
    const before = Object.getOwnPropertySymbols(globalThis).length;
    assert.throws(
      () =>
        withinTime(50, () => {
          throw new RangeError('no');
        }),
      RangeError,
    );
    assert.equal(Object.getOwnPropertySymbols(globalThis).length, before);
  });
});
