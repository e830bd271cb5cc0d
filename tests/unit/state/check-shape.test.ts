import assert from 'node:assert/strict';
import { test } from 'node:test';
// tests/property/check-shape.test.ts holds it against ajv.
import { checkShape, type Shape } from '../../../src/state/check-shape.ts';

test('The reason names the place and the expected value.', () => {
  const shape: Shape = [
    ...['{', 'a', ['0..9'], 'b', '=x|y', 'c', 'text', 'd', 'instant?'],
    ...['e', ['null', ['{', 'f', 'count']], 'g', ['{', '*', 'amount'], 'i?', 'boolean', 'j?', 'true'],
  ];
  const good = { a: [], b: 'x', c: 'z', d: null, e: null, g: {} };
  const reasons: [unknown, string | null][] = [
    [good, null],
    [{ ...good, a: [0, 9], d: '2026-02-28T10:00:00Z', e: { f: 0 }, g: { h: 0.5 }, more: true }, null],
    [null, 'it must be object'],
    [[], 'it must be object'],
    [{}, '/a is missing'],
    [{ ...good, a: {} }, '/a must be array'],
    [{ ...good, a: [1, -1] }, '/a/1 must be 0..9'],
    [{ ...good, a: [10] }, '/a/0 must be 0..9'],
    [{ ...good, a: [1.5] }, '/a/0 must be 0..9'],
    [{ ...good, b: 'z' }, '/b must be one of x|y'],
    [{ ...good, c: '' }, '/c must be text'],
    [{ ...good, d: 'yesterday' }, '/d must be instant?'],
    [{ ...good, e: {} }, '/e/f is missing'],
    [{ ...good, g: { h: -1 } }, '/g/h must be amount'],
    [{ ...good, i: false }, null],
    [{ ...good, i: null }, '/i must be boolean'],
    [{ ...good, j: true }, null],
    [{ ...good, j: false }, '/j must be true'],
    [{ ...good, j: 'true' }, '/j must be true'],
  ];
  for (const [value, reason] of reasons) assert.equal(checkShape(value, shape), reason, JSON.stringify(value));
});

test('Names that every object has count neither as present nor as described.', () => {
  assert.equal(checkShape({}, ['{', 'toString', 'string']), '/toString is missing');
  assert.equal(checkShape({}, ['{', 'toString?', 'string']), null);
  assert.equal(checkShape({}, ['{']), null);
  assert.equal(checkShape([], ['{']), 'it must be object');
  const ours = JSON.parse('{"constructor":1,"__proto__":2}') as object;
  assert.equal(checkShape(ours, ['{', 'a?', 'string']), null);
  assert.equal(checkShape(ours, ['{', '__proto__', 'string']), '/__proto__ must be string');
});
