import assert from 'node:assert/strict';
import { test } from 'node:test';
import { after, elapsed, INSTANT, instantOf, isBefore } from '../../../src/text/time.ts';
import fc from '../../support/property.ts';

const NOON = '2026-02-28T12:00:00.000Z';
const LATER = '2026-02-28T12:00:01.500Z';

test('elapsed time is the wall clock’s difference in milliseconds', () => assert.equal(elapsed(NOON, LATER), 1_500));
test('a clock that jumped back counts as no time', () => assert.equal(elapsed(LATER, NOON), 0));
test('an invalid instant counts as no elapsed time', () => {
  assert.equal(elapsed('2026-13-45T99:99:99Z', NOON), 0);
  assert.equal(elapsed(NOON, '2026-13-45T99:99:99Z'), 0);
});
test('an instant after another may have fractions, and is never early', () => {
  assert.equal(after(NOON, 1_500), LATER);
  assert.equal(after(NOON, 1_499.2), LATER);
});
test('an instant before another has a negative distance', () => assert.equal(after(LATER, -1_500), NOON));
test('an instant beyond the year 9999 becomes its last, which a state file can store', () => {
  assert.equal(after(NOON, 1e18), '9999-12-31T23:59:59.999Z');
  assert.equal(after(NOON, Number.POSITIVE_INFINITY), '9999-12-31T23:59:59.999Z');
});
test('an instant before the year 0 becomes its first', () =>
  assert.equal(after(NOON, -1e18), '0000-01-01T00:00:00.000Z'));
test('returns an invalid instant unchanged', () => {
  assert.equal(after('2026-13-45T99:99:99Z', 5), '2026-13-45T99:99:99Z');
});
test('an instant in a file is UTC to the second or finer, and nothing else', () => {
  for (const good of ['2026-02-28T12:00:00Z', '2026-02-28T12:00:00.5Z', '2026-02-28T12:00:00.123456789Z']) {
    assert.match(good, INSTANT);
  }
  for (const bad of [
    'x2026-02-28T12:00:00Z',
    '2026-02-28T12:00:00Zx',
    '2026-02-28T12:00:00',
    '2026-02-28T12:00:00+01:00',
    '2026-02-28',
    '2026-02-28T12:00:00.Z',
    '2026-02-28T12:00:00.1234567890Z',
  ]) {
    assert.doesNotMatch(bad, INSTANT);
  }
});
test('an instant is before a later one and not before itself', () => {
  assert.equal(isBefore(NOON, LATER), true);
  assert.equal(isBefore(NOON, NOON), false);
  assert.equal(isBefore(LATER, NOON), false);
});

test('writes an instant as node does', () => {
  const years = fc.integer({ min: Date.parse('0000-01-01T00:00:00Z'), max: Date.parse('9999-12-31T23:59:59.999Z') });
  fc.assert(fc.property(years, (at) => assert.equal(instantOf(at), new Date(at).toISOString())));
});
