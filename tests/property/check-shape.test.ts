import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Ajv, type ValidateFunction } from 'ajv';
import * as z from 'zod';
import batchShapes from '../../.build/batch-shapes.json' with { type: 'json' };
import contractShapes from '../../.build/contract-shapes.json' with { type: 'json' };
import recordShapes from '../../.build/record-shapes.json' with { type: 'json' };
import shapes from '../../.build/state-shapes.json' with { type: 'json' };
import { batch } from '../../src/engine/schema/batch.ts';
import { guardrails } from '../../src/engine/schema/contract.ts';
import * as views from '../../src/engine/schema/records.ts';
import { commonPart, fourKeyState, statusPart } from '../../src/engine/schema/state.ts';
import { checkShape, type Schema } from '../../src/state/check-shape.ts';
import { anyState } from '../support/arbitraries/any-state.ts';
import { BATCH } from '../support/evidence/record-losses.ts';
import { aContract } from '../support/faults/a-state.ts';
import fc, { runs } from '../support/property.ts';

const RUNS = runs(1_500);
const ajv = new Ajv({ strict: false });
const DEFINITIONS = { commonPart, statusPart, fourKeyState } as const;
const VALIDATORS = {
  commonPart: validator(commonPart.omit({ plan: true })),
  statusPart: validator(statusPart),
  fourKeyState: validator(fourKeyState),
};
const NAMES = Object.keys(DEFINITIONS) as (keyof typeof DEFINITIONS)[];

/** Returns ajv's check of a definition, without what check-shape leaves out: further properties, and doubles' own limit. */
function validator(definition: z.ZodType): ValidateFunction {
  const schema = JSON.stringify(z.toJSONSchema(definition, { target: 'draft-7', io: 'input' }));
  const left = schema.replaceAll(/,"additionalProperties":false|,"maximum":9007199254740991/g, '');
  return ajv.compile(JSON.parse(left) as object);
}

/** Something that may stand at any place of a file, wrong in most. */
const intruder: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1.5,
    101,
    2 ** 53,
    1e308,
    '',
    'x',
    'unknown',
    'running',
    'ended',
    'idle',
  ),
  fc.constantFrom<unknown>(
    '2026-02-28T10:00:00Z',
    '2026-02-28T10:00:00',
    '2026-02-28T10:00:00.1234567890Z',
    '\u{1F642}',
  ),
  fc.constantFrom<unknown>([], [null], ['a'], {}, { value: 'a', repeats: 0 }, { value: null }),
  fc.jsonValue({ maxDepth: 2 }),
);

interface Mutation {
  readonly where: number;
  readonly how: 'replace' | 'remove' | 'add';
  readonly value: unknown;
  readonly key: string;
}

const mutation: fc.Arbitrary<Mutation> = fc.record({
  where: fc.nat(),
  how: fc.constantFrom('replace' as const, 'replace' as const, 'remove' as const, 'add' as const),
  value: intruder,
  key: fc.constantFrom('x', 'status', 'iteration', 'toString', '__proto__', 'constructor'),
});

/** A copy of a JSON value with one place changed; which one is `where`, counted through the whole value. */
function mutated(value: unknown, { where, how, key, value: put }: Mutation): unknown {
  const copy = structuredClone(value);
  const places: [Record<string, unknown>, string][] = [];
  const walk = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const name of Object.keys(node)) {
      places.push([node as Record<string, unknown>, name]);
      walk((node as Record<string, unknown>)[name]);
    }
  };
  walk(copy);
  const place = places[where % Math.max(1, places.length)];
  if (place === undefined) return put;
  const [parent, name] = place;
  const define = (at: string) =>
    Object.defineProperty(parent, at, { value: put, enumerable: true, configurable: true, writable: true });
  if (how === 'remove') delete parent[name];
  else define(how === 'add' ? key : name);
  return copy;
}

function agrees(name: keyof typeof DEFINITIONS, value: unknown): string | null {
  const said = checkShape(value, shapes[name]);
  assert.equal(said === null, VALIDATORS[name](value), `ajv says otherwise: ${said}`);
  return said;
}

const fourKeys = fc.record({
  iteration: fc.nat(),
  startedAt: fc.constantFrom('2026-02-28T10:00:00Z', '2026-02-28T10:00:00.5Z'),
  lastRunAt: fc.constant('2026-02-28T10:00:00Z'),
  lastFindingsCount: fc.constantFrom(null, 'unknown', 0, 7),
});

describe('the checker of the hooks agrees with ajv', () => {
  test('of every valid state: nothing', () => {
    fc.assert(
      fc.property(anyState, fourKeys, (state, file) => {
        assert.equal(agrees('commonPart', state), null);
        assert.equal(agrees('statusPart', state), null);
        assert.equal(agrees('fourKeyState', file), null);
      }),
      { numRuns: RUNS, includeErrorInReport: true },
    );
  });

  test('on changed states', () => {
    fc.assert(
      fc.property(
        fc.oneof(anyState, fourKeys),
        fc.array(mutation, { minLength: 1, maxLength: 3 }),
        (state, mutations) => {
          const value = mutations.reduce<unknown>(mutated, state);
          for (const name of NAMES) agrees(name, value);
        },
      ),
      { numRuns: RUNS, includeErrorInReport: true },
    );
  });

  test('on anything at all', () => {
    fc.assert(
      fc.property(intruder, (value) => {
        for (const name of NAMES) agrees(name, value);
      }),
      { numRuns: RUNS, includeErrorInReport: true },
    );
  });
});

test('zod, from which the schemas come, agrees on changed states', () => {
  fc.assert(
    fc.property(fc.oneof(anyState, fourKeys), mutation, (state, change) => {
      const value = mutated(state, change);
      // Only zod minds an integer that no double holds exactly, and only zod passes over a key of this name. Neither
      // does harm: no counter of ours gets there, and nothing reads such a key.
      fc.pre(!/[0-9]{16}|e\+|__proto__/.test(JSON.stringify(value)));
      for (const name of NAMES) {
        const said = checkShape(value, shapes[name]);
        assert.equal(said === null, DEFINITIONS[name].safeParse(value).success, `zod says otherwise: ${said}`);
      }
    }),
    { numRuns: RUNS, includeErrorInReport: true },
  );
});

test('control: some changed states are valid and some invalid', () => {
  const seen = { valid: 0, invalid: 0 };
  for (const [state, change] of fc.sample(fc.tuple(anyState, mutation), 500)) {
    const value = mutated(state, change);
    seen[checkShape(value, shapes.commonPart) === null ? 'valid' : 'invalid']++;
  }
  assert.ok(seen.valid > 50 && seen.invalid > 50, JSON.stringify(seen));
});

const AT = '2026-02-28T10:00:00Z';
const MARKS = { files: { 'a.ts': 'mark' }, complete: true, limits: [] };
const COMPLETION = { promiseSeen: true, gateChecked: true, gatePassed: false, reasons: ['tests failed'] };
const TESTS = { run: 2, failed: 1, skipped: 0, failures: [], atLeast: true };
const PLAN = { path: 'PLAN.md', branch: 'main', from: null, maxTasks: 1, tasks: [], done: ['1'], blocked: [] };
/** One valid record of each view, with its shape. */
const RECORDS: readonly (readonly [z.ZodType, Schema, unknown])[] = [
  [views.contractView, contractShapes.contract, aContract('l')],
  [
    guardrails,
    contractShapes.guardrails,
    {
      blockCommands: [
        'rm',
        { command: 'git', args: ['push'], reason: null },
        { pipeline: ['curl', 'sh'], reason: 'x' },
      ],
      ...{ shellAllow: ['ls'], protectedFiles: ['.env'], privateFiles: [], strict: true, lifted: ['a'] },
    },
  ],
  [
    batch,
    batchShapes.batch,
    {
      ...{
        ...BATCH,
        ended: { at: AT, status: 'stopped', text: 't', next: { verb: 'v', command: 'c', options: { a: true } } },
      },
      plan: { ...PLAN, baseline: { checks: [{ name: 'n', outcome: 'failed', tests: TESTS }] } },
    },
  ],
  [views.countersView, recordShapes.counters, { iteration: 1, idleIterations: 0, findings: null, endedAt: AT }],
  [
    views.lostIterationView,
    recordShapes.lostIteration,
    { startedAt: AT, endedAt: AT, durationMs: 0.5, claimed: false },
  ],
  [
    views.taskIterationView,
    recordShapes.taskIteration,
    {
      ...{ loopId: 'l', iteration: 1, endedAt: AT, durationMs: 1, changedFiles: ['a'], completion: COMPLETION },
      ...{ status: 'idle', progress: 'unknown', commands: [{ name: 'n', outcome: 'ok' }] },
    },
  ],
  [
    views.promptedTurnView,
    recordShapes.promptedTurn,
    {
      ...{ loopId: 'l', iteration: 1, at: AT, prompt: 'p', evidence: [] },
      snapshot: {
        ...{ version: 1, taskDir: 't', task: MARKS, gitLimit: null },
        git: { head: 'h', index: {}, tree: MARKS, committed: { since: 's', files: [], onlyLeftOut: true } },
      },
    },
  ],
  [
    views.spawnView,
    recordShapes.spawn,
    {
      ...{ loopId: 'l', epoch: 1, heard: true, heardOf: null, doubts: 0 },
      answer: {
        ...{ action: 'spawn', spawn: 1, loopId: 'l', loop: null, iteration: 0, maxIterations: 5 },
        ...{ agentType: 'a', description: 'd', allowedScope: ['src'], timeoutSeconds: 1, prompt: 'p' },
      },
    },
  ],
];

test('the shape of every stored record agrees with ajv on its definition', () => {
  for (const [view, shape, sample] of RECORDS) {
    const validate = validator(view);
    assert.equal(checkShape(sample, shape), null);
    assert.ok(validate(sample));
    fc.assert(
      fc.property(fc.array(mutation, { minLength: 1, maxLength: 3 }), (mutations) => {
        const value = mutations.reduce<unknown>(mutated, sample);
        fc.pre(!/[0-9]{16}|e\+|__proto__/.test(JSON.stringify(value)));
        const said = checkShape(value, shape);
        assert.equal(said === null, validate(value), `ajv says otherwise: ${said}`);
      }),
      { numRuns: Math.ceil(RUNS / RECORDS.length), includeErrorInReport: true },
    );
  }
});
