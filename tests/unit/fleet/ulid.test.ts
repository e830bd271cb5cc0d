import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ULID, ulid, ulidAfter } from '../../../src/fleet/queue/loop-streams.ts';
import fc from '../../support/property.ts';

test('ids sort by their time and are all different', () => {
  const time = fc.integer({ min: 0, max: 2 ** 47 });
  fc.assert(
    fc.property(time, time, (one, other) => {
      const [first, second] = [ulid(one), ulid(other)];
      assert.match(first, ULID);
      assert.notEqual(first, second);
      if (one !== other) assert.equal(first < second, one < other);
    }),
  );
});

test('a later id sorts after an earlier one, whatever the clock says', () => {
  const time = fc.integer({ min: 0, max: 2 ** 47 });
  fc.assert(
    fc.property(time, time, (before, now) => {
      const last = ulid(before);
      const next = ulidAfter(last, now);
      assert.match(next, ULID);
      assert.ok(next > last);
    }),
  );
});
