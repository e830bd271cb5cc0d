import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withinTime } from '../../../src/guard/commands/within-time.ts';

describe('work within a time', () => {
  it('gives what it comes to', () => {
    assert.deepEqual(
      withinTime(50, () => 7),
      { value: 7 },
    );
    assert.deepEqual(
      withinTime(50, () => null),
      { value: null },
    );
  });
  it('is ended in the middle of a regular expression', () => {
    const pattern = /^(a+)+$/;
    const text = `${'a'.repeat(40)}!`;
    assert.equal(
      withinTime(20, () => pattern.test(text)),
      null,
    );
  });
  it('is ended in a loop without end, and what it set by then stands', () => {
    let rounds = 0;
    assert.equal(
      withinTime(20, () => {
        for (;;) rounds += 1;
      }),
      null,
    );
    assert.ok(rounds > 0);
  });
  it('that was only held up is begun anew', () => {
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
  it('that fails fails as it did, and leaves nothing behind', () => {
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
