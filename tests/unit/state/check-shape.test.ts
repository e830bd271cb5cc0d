import assert from 'node:assert/strict';
import { test } from 'node:test';
// tests/property/check-shape.test.ts holds it against ajv.
import { checkShape, type Schema } from '../../../src/state/check-shape.ts';
import { INSTANT } from '../../../src/text/time.ts';

const object = (properties: Record<string, Schema>, required = Object.keys(properties)): Schema => ({
  type: 'object',
  properties,
  required,
});
const COUNT: Schema = { type: 'integer', minimum: 0 };

test('The reason names the place and the expected value.', () => {
  const schema = object(
    {
      a: { type: 'array', items: { type: 'integer', minimum: 0, maximum: 9 } },
      b: { type: 'string', enum: ['x', 'y'] },
      c: { type: 'string', minLength: 1 },
      d: { type: ['string', 'null'], pattern: INSTANT.source },
      e: { anyOf: [{ type: 'null' }, object({ f: COUNT })] },
      g: { type: 'object', additionalProperties: { type: 'number', minimum: 0 } },
      i: { type: 'boolean' },
      j: { type: 'boolean', const: true },
    },
    ['a', 'b', 'c', 'd', 'e', 'g'],
  );
  const good = { a: [], b: 'x', c: 'z', d: null, e: null, g: {} };
  const reasons: [unknown, string | null][] = [
    [good, null],
    [{ ...good, a: [0, 9], d: '2026-02-28T10:00:00Z', e: { f: 0 }, g: { h: 0.5 }, more: true }, null],
    [null, 'it must be object'],
    [[], 'it must be object'],
    [{}, '/a is missing'],
    [{ ...good, a: {} }, '/a must be array'],
    [{ ...good, a: [1, -1] }, '/a/1 must be at least 0'],
    [{ ...good, a: [10] }, '/a/0 must be at most 9'],
    [{ ...good, a: [1.5] }, '/a/0 must be integer'],
    [{ ...good, b: 'z' }, '/b must be one of x, y'],
    [{ ...good, c: '' }, '/c must not be empty'],
    [{ ...good, d: 'yesterday' }, '/d must be a time such as 2026-02-28T10:00:00Z'],
    [{ ...good, d: 1 }, '/d must be string or null'],
    [{ ...good, e: {} }, '/e/f is missing'],
    [{ ...good, g: { h: -1 } }, '/g/h must be at least 0'],
    [{ ...good, i: false }, null],
    [{ ...good, i: null }, '/i must be boolean'],
    [{ ...good, j: true }, null],
    [{ ...good, j: false }, '/j must be true'],
    [{ ...good, j: 'true' }, '/j must be boolean'],
  ];
  for (const [value, reason] of reasons) assert.equal(checkShape(value, schema), reason, JSON.stringify(value));
});

test('Names that every object has count neither as present nor as described.', () => {
  const text: Schema = { type: 'string' };
  assert.equal(checkShape({}, object({ toString: text })), '/toString is missing');
  assert.equal(checkShape({}, object({ toString: text }, [])), null);
  assert.equal(checkShape({}, object({})), null);
  assert.equal(checkShape([], object({})), 'it must be object');
  const ours = JSON.parse('{"constructor":1,"__proto__":2}') as object;
  assert.equal(checkShape(ours, object({ a: text }, [])), null);
  assert.equal(checkShape(ours, object({ ['__proto__']: text })), '/__proto__ must be string');
});
