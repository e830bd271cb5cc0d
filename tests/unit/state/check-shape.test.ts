import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import schemas from '../../../.build/state-schemas.json' with { type: 'json' };
import compact from '../../../.build/state-shapes.json' with { type: 'json' };
import { checkShape, type Shape } from '../../../src/state/check-shape.ts';
import { anEndedState, aState } from './a-loop.ts';

const shapes = compact as Record<string, Shape>;
const fourKeys = {
  iteration: 1,
  startedAt: '2026-02-28T10:00:00Z',
  lastRunAt: '2026-02-28T10:00:00Z',
  lastFindingsCount: 'unknown',
};
const samples: Record<string, unknown>[] = [aState(), anEndedState(), fourKeys].map((sample) => ({ ...sample }));

test('The reason names the place and what must be there.', () => {
  const shape: Shape = {
    properties: {
      a: { items: { min: 0, max: 9 } },
      b: { enum: ['x', 'y'] },
      c: 'text',
      d: 'instant?',
      e: { anyOf: ['null', { properties: { f: 'count' } }] },
      g: { values: 'amount' },
    },
  };
  const good = { a: [], b: 'x', c: 'z', d: null, e: null, g: {} };
  const reasons: [unknown, string | null][] = [
    [good, null],
    [{ ...good, a: [0, 9], d: '2026-02-28T10:00:00Z', e: { f: 0 }, g: { h: 0.5 }, more: true }, null],
    [null, 'it must be object'],
    [[], 'it must be object'],
    [{}, '/a is missing'],
    [{ ...good, a: {} }, '/a must be array'],
    [{ ...good, a: [1, -1] }, '/a/1 must be from 0 to 9'],
    [{ ...good, a: [10] }, '/a/0 must be from 0 to 9'],
    [{ ...good, a: [1.5] }, '/a/0 must be from 0 to 9'],
    [{ ...good, b: 'z' }, '/b must be one of x, y'],
    [{ ...good, c: '' }, '/c must be text'],
    [{ ...good, d: 'yesterday' }, '/d must be instant?'],
    [{ ...good, e: {} }, '/e/f is missing'],
    [{ ...good, g: { h: -1 } }, '/g/h must be amount'],
  ];
  for (const [value, reason] of reasons) assert.equal(checkShape(value, shape), reason, JSON.stringify(value));
});

test('Names that every object has count neither as present nor as described.', () => {
  const shape = JSON.parse('{"properties":{"toString":"string"}}') as Shape;
  assert.equal(checkShape({}, shape), '/toString is missing');
  assert.equal(checkShape(JSON.parse('{"constructor":1,"__proto__":2}'), { properties: {} }), null);
});

/** A sample with one of its values, at any depth, replaced, removed or added to. */
function spoil(sample: unknown, path: readonly number[], how: 'replace' | 'remove' | 'add', value: unknown): unknown {
  const copy = structuredClone(sample);
  let at = copy as Record<string, unknown>;
  for (const [depth, step] of path.entries()) {
    const keys = Object.keys(at);
    const key = keys[step % Math.max(1, keys.length)];
    if (key === undefined) break;
    const inner = at[key];
    if (depth < path.length - 1 && typeof inner === 'object' && inner !== null && Object.keys(inner).length > 0) {
      at = inner as Record<string, unknown>;
      continue;
    }
    if (how === 'replace') at[key] = value;
    else if (how === 'add') at['added'] = value;
    else if (Array.isArray(at)) at.splice(Number(key), 1);
    else delete at[key];
    break;
  }
  return copy;
}

test('It says yes and no where ajv does, for states that were spoiled in any place.', () => {
  const ajv = new Ajv({ strict: false });
  const validators = Object.entries(shapes).map(([name, shape]) => ({
    name,
    shape,
    ajv: ajv.compile(shape as object),
  }));
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.constantFrom(null, -1, 0, 1, 1.5, 101, 1e300, '', 'ended', 'running', '2026-02-28T10:00:00.5Z', [], {}),
  );
  const how = fc.constantFrom('replace', 'remove', 'add');
  const path = fc.array(fc.nat(60), { minLength: 1, maxLength: 4 });
  let refused = 0;
  let accepted = 0;
  fc.assert(
    fc.property(fc.constantFrom(...samples), path, how, odd, (sample, where, change, value) => {
      const spoiled = spoil(sample, where, change as 'add', value);
      for (const validator of validators) {
        const valid = validator.ajv(spoiled);
        if (valid) accepted += 1;
        else refused += 1;
        assert.equal(
          checkShape(spoiled, validator.shape) === null,
          valid,
          `${validator.name} ${JSON.stringify(spoiled)}`,
        );
      }
    }),
    { numRuns: 2000 },
  );
  assert.ok(refused > 100 && accepted > 100, 'both answers were asked for');
});
