import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { LoopState, StateOf } from '../../../src/engine/schema/state.ts';
import { transition } from '../../../src/engine/transition.ts';
import {
  after,
  at,
  command,
  effect,
  IDLE,
  IDLE_POLICY,
  policy,
  recorded,
  running,
  SIGNAL,
  saying,
  step,
  timePassed,
  turnEnded,
  verifying,
  waiting,
} from './support/loop.ts';

const PACE = { delayMs: 120_000, iterationTimeoutMs: null, stopOnError: true, tracksProgress: false } as const;
const paced = policy({ pace: PACE });
/** With the strictest of idle beside it: none of its rules may show. */
const both = policy({
  pace: PACE,
  idle: { ...IDLE_POLICY, delayMs: 1_000, maxMs: 1_000, wake: 'change', watch: ['*'], maxQuietMs: 1 },
});
const pausing = (part: Partial<StateOf<'waiting'>['waiting']> = {}): LoopState =>
  waiting({ until: at(120), delayMs: 120_000, why: 'pace', ...part }, { idle: running().idle, iteration: 1 });

describe('the delay between two working iterations', () => {
  test('comes before the next prompt', () => {
    const { state, effects } = after(running(), paced, turnEnded('Work.', { at: at(60) }));
    assert.deepEqual(step(effects), { type: 'wait', until: at(180) });
    assert.ok(state.status === 'waiting');
    assert.deepEqual(state.waiting, {
      since: at(60),
      until: at(180),
      delayMs: 120_000,
      last: false,
      woken: false,
      seen: null,
      why: 'pace',
    });
    assert.deepEqual(state.lastDecision, { at: at(60), kind: 'wait', detail: 'pace' });
    assert.deepEqual(recorded(effects), ['iteration.completed']);
    assert.equal(effect(effects, 'record-iteration').record.decision, 'waiting');
  });

  test('is zero if the policy sets none', () => {
    assert.equal(step(after(running(), policy(), turnEnded('Work.')).effects)?.type, 'prompt');
  });

  test('follows a rejected claim and keeps its reasons for the prompt', () => {
    const results = [{ name: 'tests', outcome: 'failed', detail: '2 fail' }] as const;
    const rejected = transition(verifying(), { type: 'verified', at: at(10), results }, paced);
    assert.deepEqual(step(rejected.effects), { type: 'wait', until: at(130) });
    const next = transition(rejected.state, timePassed('elapsed', 130), paced);
    assert.deepEqual(effect(next.effects, 'prompt').notices.rejection, ['tests: 2 fail']);
  });

  test('is zero after a rejected claim if the policy sets none', () => {
    const results = [{ name: 'tests', outcome: 'failed', detail: '2 fail' }] as const;
    const { state } = transition(verifying(), { type: 'verified', at: at(10), results }, policy());
    assert.deepEqual(state.lastDecision, { at: at(10), kind: 'prompt', detail: 'next iteration' });
  });

  test('is zero after an idle iteration, which has its own wait', () => {
    const { state } = after(running(), policy({ pace: PACE, idle: IDLE_POLICY }), turnEnded(IDLE));
    assert.ok(state.status === 'waiting');
    assert.deepEqual(
      [state.waiting.delayMs, state.waiting.why, state.lastDecision?.detail],
      [30_000, undefined, 'idle'],
    );
  });

  test('is zero after the last iteration', () => {
    const { state } = after(running({ maxIterations: 1 }), paced, turnEnded('Work.'));
    assert.equal(state.status === 'ended' && state.ended.as, 'max-iterations');
  });

  test('is zero before a claim is checked', () => {
    assert.equal(step(after(running(), paced, turnEnded(SIGNAL)).effects)?.type, 'verify');
  });

  test('counts as any wait if the user was answered in it', () => {
    const asked = after(
      pausing(),
      paced,
      { type: 'user-prompt', at: at(30), promptId: 'u', by: 'user' },
      turnEnded('An answer.', { at: at(40) }),
    );
    assert.deepEqual(step(asked.effects), { type: 'wait', until: at(120) });
    assert.equal(asked.state.iteration, 1);
  });

  test('is over when its time has come', () => {
    const { state, effects } = transition(pausing(), timePassed('elapsed', 120), both);
    assert.equal(step(effects)?.type, 'prompt');
    assert.equal(state.lastDecision?.detail, 'the delay is over');
    assert.equal(saying(effects, 'pace.ended')['why'], 'the delay is over');
  });

  test('runs to its end, whatever changes meanwhile', () => {
    for (const cause of ['elapsed', 'changed', 'quiet'] as const) {
      const early = transition(pausing(), timePassed(cause, 119, 'x'), both);
      assert.deepEqual(early.effects, [{ type: 'wait', until: at(120) }], cause);
      const due = transition(pausing(), timePassed(cause, 120, 'x'), both);
      assert.equal(step(due.effects)?.type, 'prompt', cause);
    }
  });

  test('is the same with idle switched off', () => {
    assert.deepEqual(transition(pausing(), timePassed('elapsed', 119), paced).effects, [
      { type: 'wait', until: at(120) },
    ]);
  });

  test('never ends the loop by idle’s limits', () => {
    const before = { ...pausing({ last: true }), idle: { since: at(-9_999), consecutive: 3, lastCallAt: at(-9_999) } };
    assert.equal(step(transition(before, timePassed('elapsed', 120), both).effects)?.type, 'prompt');
  });

  test('ends by a wake, by steering and by the hook’s own deadline', () => {
    const steer = { kind: 'steer', id: 's', text: 'Look.', delivery: 'now' } as const;
    for (const given of [{ kind: 'wake' }, steer] as const) {
      const { effects } = after(pausing(), both, command(given), timePassed('elapsed', 6));
      assert.equal(step(effects)?.type, 'prompt', given.kind);
      assert.equal(saying(effects, 'pace.ended')['why'], 'woken');
    }
    assert.equal(step(transition(pausing(), timePassed('deadline', 9), both).effects)?.type, 'prompt');
  });

  test('is left for a message of the user and for stop, pause and Esc', () => {
    const message = transition(pausing(), timePassed('message', 9), both);
    assert.deepEqual(
      [step(message.effects)?.type, message.state.turn, message.state.status],
      ['allow', 'user', 'waiting'],
    );
    assert.equal(transition(pausing(), timePassed('notification', 9), both).state.turn, 'rest');
    const stopped = transition(pausing(), command({ kind: 'stop', clientAlive: true }), both).state;
    assert.equal(stopped.status === 'ended' && stopped.ended.as, 'stopped');
    assert.equal(transition(pausing(), command({ kind: 'pause' }), both).state.status, 'paused');
    const escaped = transition(pausing(), { type: 'interrupted', at: at(9), by: 'signal' }, both).state;
    assert.equal(escaped.status === 'paused' && escaped.paused.reason, 'interrupted');
  });

  test('restarts on a clock that was set back to before it', () => {
    const { effects } = transition(pausing(), timePassed('elapsed', -60), paced);
    assert.deepEqual(effects, [{ type: 'wait', until: at(60) }]);
  });

  test('ends at a budget that was used up meanwhile', () => {
    const limited = policy({ pace: PACE, budget: { ...policy().budget, maxTimeMs: 100_000 } });
    const { state } = transition(pausing(), timePassed('elapsed', 120), limited);
    assert.equal(state.status === 'ended' && state.ended.as, 'budget-exhausted');
  });
});

test('an idle wait names itself in its end', () => {
  assert.equal(
    saying(transition(waiting(), timePassed('deadline', 5), both).effects, 'idle.ended')['why'],
    'the hook has to answer before its timeout',
  );
});
