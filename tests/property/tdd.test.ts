import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TddPhase, TddRecord } from '../../src/engine/schema/tdd.ts';
import { evaluateRun } from '../../src/engine/tdd/evaluate-run.ts';
import {
  allComplete,
  isComplete,
  mayRun,
  nextScenario,
  recordBroken,
  recordPhase,
} from '../../src/engine/tdd/phases.ts';
import { agreement, publishedState } from '../../src/state/tdd-store.ts';
import fc, { runs } from '../support/property.ts';
import { AT, aList } from '../support/tdd-list.ts';

const RUNS = { numRuns: runs(2_000), includeErrorInReport: true };
const SCENARIOS = 3;

type Call =
  | { readonly step: 'next' }
  | { readonly step: TddPhase; readonly id: string | null; readonly again: boolean; readonly code: number };

const call: fc.Arbitrary<Call> = fc.oneof(
  { weight: 1, arbitrary: fc.constant<Call>({ step: 'next' }) },
  {
    weight: 4,
    arbitrary: fc.record({
      step: fc.constantFrom<TddPhase>('red', 'green', 'refactored'),
      id: fc.option(fc.constantFrom('sc-001', 'sc-002', 'sc-003', 'sc-009'), { freq: 4 }),
      again: fc.boolean(),
      code: fc.constantFrom(0, 0, 1, 1, 127),
    }),
  },
);

interface Step {
  readonly record: TddRecord;
  /** The scenario whose command ran, or null. */
  readonly ran: string | null;
}

/** What main.cjs does with a call, less the disk. */
function apply(record: TddRecord, made: Call): Step {
  if (made.step === 'next') return { record: nextScenario(record).record, ran: null };
  const may = mayRun(record, made.step, made.id, made.again);
  if (may.kind !== 'run') return { record, ran: null };
  const { id } = may.scenario;
  const problem = evaluateRun(made.step, { end: { kind: 'exit', code: made.code }, output: '', tests: null });
  if (problem === null) {
    const entry = { scenarioId: id, phase: made.step, output: `${made.step} ${record.log.length}`, timestamp: AT };
    return { record: recordPhase(record, entry), ran: id };
  }
  return { record: made.step === 'refactored' ? recordBroken(record, id, '') : record, ran: id };
}

test('under any calls in any order, the log only grows and a complete scenario is final', () => {
  fc.assert(
    fc.property(fc.array(call, { maxLength: 40, size: 'max' }), (calls) => {
      let record = aList(SCENARIOS);
      for (const made of calls) {
        const before = record;
        const { record: next, ran } = apply(record, made);
        assert.deepEqual(next.log.slice(0, before.log.length), before.log);
        assert.ok(next.log.length <= before.log.length + 1);
        assert.deepEqual(next.completed.slice(0, before.completed.length), before.completed);
        assert.deepEqual(next.scenarios, before.scenarios);
        if (ran !== null && isComplete(before, ran)) {
          assert.equal(made.step, 'refactored', `${ran} was complete and ran again`);
          assert.equal(before.current, ran, 'only while nothing else has begun');
        }
        record = next;
      }
    }),
    RUNS,
  );
});

test('in any order, each scenario is red before green and green before refactored, one after the other', () => {
  fc.assert(
    fc.property(fc.array(call, { maxLength: 60, size: 'max' }), (calls) => {
      const record = calls.reduce((list, made) => apply(list, made).record, aList(SCENARIOS));
      const phases = record.log.map(({ scenarioId, phase }) => `${scenarioId} ${phase}`).join(',');
      const each = record.scenarios.map(({ id }) => `(${id} red,)*(${id} green,)?(${id} refactored,)*`).join('');
      assert.match(`${phases}${phases === '' ? '' : ','}`, new RegExp(`^${each}$`));
      for (const { id } of record.completed) assert.ok(phases.includes(`${id} red`) && phases.includes(`${id} green`));
      if (allComplete(record)) assert.equal(record.completed.length, SCENARIOS);
    }),
    RUNS,
  );
});

test('an agent that follows next reaches the end, however often its runs fail first', () => {
  fc.assert(
    fc.property(fc.array(call, { maxLength: 30, size: 'max' }), (calls) => {
      let record = calls.reduce((list, made) => apply(list, made).record, aList(SCENARIOS));
      for (let turn = 0; turn <= SCENARIOS; turn++) {
        record = nextScenario(record).record;
        for (const [step, code] of [
          ['refactored', 0],
          ['red', 1],
          ['green', 0],
        ] as const) {
          record = apply(record, { step, id: null, again: false, code }).record;
        }
      }
      assert.equal(allComplete(record), true);
      assert.equal(nextScenario(record).scenario, null);
    }),
    RUNS,
  );
});

test('every earlier state of a list is outdated, and none counts as forged', () => {
  fc.assert(
    fc.property(fc.array(call, { maxLength: 40, size: 'max' }), fc.nat(40), (calls, at) => {
      const then = calls.slice(0, at).reduce((list, made) => apply(list, made).record, aList(SCENARIOS));
      const now = calls.slice(at).reduce((list, made) => apply(list, made).record, then);
      assert.notEqual(agreement(publishedState(then), now), 'tampered');
      assert.equal(agreement(publishedState(now), now), 'same');
    }),
    RUNS,
  );
});
