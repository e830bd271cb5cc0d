import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outOfTime } from '../../../src/engine/policy/iteration-time.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { running } from './support/loop.ts';

const PROMPTED = '2026-02-28T10:00:00Z';
const LATER = '2026-02-28T10:01:00.001Z';
const state = (kind: NonNullable<LoopState['lastDecision']>['kind'], turn: LoopState['turn']): LoopState => ({
  ...running(),
  turn,
  lastDecision: { at: PROMPTED, kind, detail: '' },
});

test('an iteration is out of time just after its limit, not at it', () => {
  assert.equal(outOfTime(state('prompt', 'agent'), 60_000, LATER), true);
  assert.equal(outOfTime(state('prompt', 'agent'), 60_001, LATER), false);
  assert.equal(outOfTime(state('started', 'first'), 60_000, LATER), true);
});

test('the time of an iteration has no sleep of the machine in it', () => {
  const lastDecision = { at: PROMPTED, kind: 'prompt', detail: '', sleptMs: 1_000 } as const;
  const slept = { ...state('prompt', 'agent'), lastDecision };
  assert.equal(outOfTime(slept, 59_001, LATER), false);
  assert.equal(outOfTime(slept, 59_000, LATER), true, 'control: awake it had its limit');
});

test('there is no time limit without one set, without a prompt, and while the user is answered', () => {
  assert.equal(outOfTime(state('prompt', 'agent'), null, LATER), false);
  assert.equal(outOfTime({ ...state('prompt', 'agent'), lastDecision: null }, 1, LATER), false);
  for (const kind of ['wait', 'verify', 'allow'] as const) {
    assert.equal(outOfTime(state(kind, 'agent'), 1, LATER), false, kind);
  }
  for (const turn of ['user', 'rest'] as const) {
    assert.equal(outOfTime(state('prompt', turn), 1, LATER), false, turn);
  }
});
