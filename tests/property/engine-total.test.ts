import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EngineEvent } from '../../src/engine/events.ts';
import { resumeState } from '../../src/engine/initial-state.ts';
import type { Policy } from '../../src/engine/schema/contract.ts';
import { commonPart, statusPart } from '../../src/engine/schema/state.ts';
import { transition } from '../../src/engine/transition.ts';
import { validateLoopState } from '../../src/state/loop-files.ts';
import { anyState } from '../support/arbitraries/any-state.ts';
import * as arb from '../support/arbitraries/arbitraries.ts';
import fc, { runs } from '../support/property.ts';

const RUNS = runs(2_500);

/** What only some tasks tell. */
const ofTask = fc.record(
  {
    checklist: fc.record({
      done: fc.nat({ max: 3 }),
      total: fc.nat({ max: 3 }),
      missing: fc.array(fc.constant('an item'), { maxLength: 1 }),
      unread: fc.array(fc.constant({ line: 3, text: '[]a' }), { maxLength: 1 }),
    }),
    reflected: fc.boolean(),
    taskDone: fc.boolean(),
  },
  { requiredKeys: [] },
);

const anyEvent: fc.Arbitrary<EngineEvent> = fc
  .tuple(
    arb.anyInstant,
    fc.oneof(
      fc
        .tuple(arb.turn, arb.anyText, fc.option(fc.constantFrom('', 'a')), fc.constantFrom('', 'a'), ofTask)
        .map(([turn, text, promptId, transcriptMark, task]) => ({
          type: 'iteration-ended' as const,
          ...turn,
          ...task,
          text,
          promptId,
          transcriptMark,
        })),
      arb.checkResults.map((results) => ({ type: 'verified' as const, results })),
      fc.record({ type: fc.constant('time-passed' as const), cause: arb.timeCause, seen: fc.option(fc.constant('x')) }),
      fc.record({
        type: fc.constant('user-prompt' as const),
        promptId: fc.option(fc.constantFrom('', 'a')),
        by: fc.constantFrom('user' as const, 'notification' as const, 'continuation' as const),
      }),
      arb.operatorCommand.map((command) => ({ type: 'operator' as const, command })),
      fc.record({
        type: fc.constant('steering-delivered' as const),
        ids: fc.array(fc.constantFrom('', 'a'), { maxLength: 2 }),
      }),
      arb.rareEvent,
    ),
  )
  .map(([at, event]) => ({ ...event, at }) as EngineEvent);

/** Policies with the longest and the shortest durations that the schema lets through. */
const anyPolicy: fc.Arbitrary<Policy> = fc
  .tuple(arb.policy, fc.constantFrom(1, Number.MIN_VALUE, 1e-3, 1e12, 1e300))
  .map(([policy, scale]) => ({
    ...policy,
    idle: policy.idle && {
      ...policy.idle,
      delayMs: policy.idle.delayMs * scale,
      maxDelayMs: policy.idle.maxDelayMs * scale,
      maxMs: policy.idle.maxMs * scale,
    },
  }));

test('any valid state and any event give an answer and a state that can be read back', () => {
  fc.assert(
    fc.property(anyState, anyEvent, anyPolicy, (state, event, policy) => {
      const next = transition(state, event, policy);
      const file = JSON.parse(JSON.stringify(next.state));
      assert.equal(validateLoopState(file), null);
      commonPart.parse(file);
      statusPart.parse(file);
      assert.deepEqual(file, next.state);
      for (const part of ['waiting', 'verifying', 'paused', 'ended']) assert.equal(part in file, part === file.status);
    }),
    { numRuns: RUNS, includeErrorInReport: true },
  );
});

test('any valid state can be resumed', () => {
  fc.assert(
    fc.property(anyState, arb.anyInstant, fc.boolean(), (state, at, consented) => {
      const resumed = resumeState(state, at, consented);
      assert.equal(validateLoopState(resumed), null);
      assert.equal(resumed.status, consented ? 'running' : 'awaiting-consent');
    }),
    { numRuns: RUNS, includeErrorInReport: true },
  );
});
