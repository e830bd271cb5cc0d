import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { resumeState } from '../../../src/engine/initial-state.ts';
import { outOfTime } from '../../../src/engine/policy/iteration-time.ts';
import { transition } from '../../../src/engine/transition.ts';
import {
  after,
  at,
  awaitingConsent,
  command,
  effect,
  IDLE_POLICY,
  paused,
  policy,
  recorded,
  running,
  saying,
  step,
  timePassed,
  turnEnded,
  waiting,
} from './support/loop.ts';

const LOOP = policy({ idle: IDLE_POLICY });
const steer = (id: string, delivery: 'now' | 'next' = 'next', seconds = 5) =>
  command({ kind: 'steer', id, text: `Do ${id}.`, delivery }, seconds);
const queued = (id: string, delivery: 'now' | 'next' = 'next', seconds = 5) => ({
  id,
  at: at(seconds),
  text: `Do ${id}.`,
  delivery,
});
const OVERRIDDEN: EngineEvent = { type: 'block-overridden', at: at(70) };
const ids = (list: readonly { id: string }[]) => list.map(({ id }) => id);

describe('steering', () => {
  test('is queued in order, in any state', () => {
    for (const before of [running(), paused(), awaitingConsent(), waiting()]) {
      const { state, effects } = after(before, LOOP, steer('a'), steer('b', 'next', 6));
      assert.deepEqual(state.steering, [queued('a'), queued('b', 'next', 6)]);
      const { id, delivery } = saying(effects, 'operator.steer');
      assert.deepEqual([id, delivery, state.status, step(effects)], ['b', 'next', before.status, null]);
    }
  });

  test('given twice under one id is queued once', () => {
    const { state, effects } = after(running(), LOOP, steer('a'), steer('a'));
    assert.deepEqual([ids(state.steering), effects], [['a'], []]);
  });

  test('is delivered with the next prompt exactly once', () => {
    const first = after(running(), LOOP, steer('a', 'now'), steer('b'), turnEnded('Work.'));
    assert.deepEqual(ids(effect(first.effects, 'prompt').steering), ['a', 'b']);
    const second = transition(first.state, turnEnded('More.'), LOOP);
    assert.deepEqual(effect(second.effects, 'prompt').steering, []);
  });

  test('that was delivered during an iteration is not repeated', () => {
    const { state, effects } = after(running(), LOOP, steer('a', 'now'), steer('b'), {
      type: 'steering-delivered',
      at: at(9),
      ids: ['a', 'unknown'],
    });
    assert.deepEqual([ids(state.steering), saying(effects, 'steering.delivered')['ids']], [['b'], ['a', 'unknown']]);
  });

  test('with an unknown id was not delivered', () => {
    const before = after(running(), LOOP, steer('a')).state;
    const next = transition(before, { type: 'steering-delivered', at: at(9), ids: ['b'] }, LOOP);
    assert.deepEqual(next, { state: before, effects: [] });
  });

  test('for now ends a wait', () => {
    const { state } = after(waiting(), LOOP, steer('a', 'now'));
    assert.deepEqual(state, { ...waiting({ woken: true }), steering: [queued('a', 'now')] });
    const { effects } = transition(state, timePassed('elapsed', 6), LOOP);
    assert.deepEqual(ids(effect(effects, 'prompt').steering), ['a']);
  });

  test('for now wakes no loop that does not wait', () => {
    assert.equal('waiting' in after(running(), LOOP, steer('a', 'now')).state, false);
  });

  test('for the next prompt lets a wait continue', () => {
    const { state } = after(waiting(), LOOP, steer('a'));
    assert.equal(step(transition(state, timePassed('elapsed', 6), LOOP).effects)?.type, 'wait');
  });
});

describe('a prompt that the client overrode', () => {
  const rejected = running({
    notices: { rejection: ['tests: fail'], misplacedSignal: 'Alone on a line.', warnings: ['w1'] },
  });

  test('is reported to the user, with the variable to set', () => {
    const { state, effects } = after(running(), LOOP, OVERRIDDEN);
    assert.deepEqual([state.turn, recorded(effects), step(effects)], ['rest', ['block.overridden'], null]);
    assert.match(effect(effects, 'notify').message, /CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=0/);
  });

  test('returns the steering and notices it carried, and the next prompt has them', () => {
    const { effects } = after(
      rejected,
      LOOP,
      steer('a'),
      turnEnded('Work.'),
      steer('b'),
      OVERRIDDEN,
      turnEnded('More.'),
    );
    const { steering, notices } = effect(effects, 'prompt');
    assert.deepEqual(ids(steering), ['a', 'b']);
    assert.deepEqual(notices, { rejection: ['tests: fail'], misplacedSignal: null, warnings: ['w1'] });
  });

  test('returns them once', () => {
    const { state } = after(rejected, LOOP, steer('a'), turnEnded('Work.'), OVERRIDDEN, OVERRIDDEN);
    assert.deepEqual([ids(state.steering), state.notices.rejection], [['a'], ['tests: fail']]);
  });

  test('puts later ones behind what it carried', () => {
    const noticed: EngineEvent = { type: 'noticed', at: at(65), key: 'k', warning: 'w2' };
    const told = running({ notices: { rejection: ['tests: fail'], misplacedSignal: null, warnings: ['w1'] } });
    const misplaced = turnEnded(`No RALPH_AUDIT_COMPLETE_NO_FINDINGS.`);
    const { state } = after(told, LOOP, misplaced, noticed, OVERRIDDEN);
    assert.deepEqual([state.notices.rejection, state.notices.warnings], [['tests: fail'], ['w1', 'w2']]);
    assert.match(state.notices.misplacedSignal ?? '', /alone on a line/);
  });

  test('has nothing to return once the agent’s turn has ended', () => {
    const { state } = after(rejected, LOOP, steer('a'), turnEnded('Work.'), turnEnded('More.'), OVERRIDDEN);
    assert.deepEqual([state.steering, state.notices.rejection], [[], []]);
  });

  test('has nothing to return before the first prompt', () => {
    assert.deepEqual(after(running(), LOOP, OVERRIDDEN).state.steering, []);
  });

  test('returns them to a new client too, if the old one was lost before it answered', () => {
    const lost = after(rejected, LOOP, steer('a'), turnEnded('Work.'), steer('b')).state;
    const { steering, notices, inFlight } = resumeState(lost, at(99), true);
    assert.deepEqual([ids(steering), notices.rejection, inFlight], [['a', 'b'], ['tests: fail'], null]);
  });

  test('does not affect the user’s turn', () => {
    assert.equal(after(running({ turn: 'user' }), LOOP, OVERRIDDEN).state.turn, 'user');
  });
});

describe('the first prompt of a fresh client', () => {
  const FIRST: EngineEvent = { type: 'first-prompt', at: at(6) };
  const told = running({
    turn: 'first',
    notices: { rejection: ['tests: fail'], misplacedSignal: 'm', warnings: ['w'] },
  });

  test('carries the notices and all steering, in order', () => {
    const { state, effects } = after(told, LOOP, steer('a'), steer('b', 'now'), FIRST);
    assert.deepEqual([ids(state.steering), effects], [[], []]);
    assert.deepEqual(state.notices, { rejection: [], misplacedSignal: null, warnings: [] });
    assert.deepEqual(state.inFlight, { notices: told.notices, steering: [queued('a'), queued('b', 'now')] });
  });

  test('begins its iteration when it is sent, however long it took to make', () => {
    const { state, effects } = after(told, LOOP, FIRST, turnEnded('Work.', { at: at(20) }));
    assert.equal(outOfTime(after(told, LOOP, FIRST).state, 10_000, at(16)), false);
    assert.equal(outOfTime(after(told, LOOP, FIRST).state, 10_000, at(17)), true);
    assert.deepEqual([effect(effects, 'record-iteration').record.startedAt, state.iteration], [at(6), 1]);
  });

  test('is not sent beyond a limit that was reached while no driver ran', () => {
    const hurried = policy({ budget: { ...LOOP.budget, maxTimeMs: 1000 } });
    const { state, effects } = after(told, hurried, FIRST);
    assert.equal(state.status === 'ended' && state.ended.as, 'budget-exhausted');
    assert.equal(effect(effects, 'allow').type, 'allow');
    assert.equal(after({ ...told, stopRequested: true }, LOOP, FIRST).state.status, 'ended');
  });

  test('begins the turn of a loop that was at rest, and leaves one that runs or is paused as it is', () => {
    assert.equal(after(running({ turn: 'rest' }), LOOP, FIRST).state.turn, 'first');
    assert.equal(after(running({ turn: 'user' }), LOOP, FIRST).state.turn, 'user');
    const atRest = after(
      running({ turn: 'rest' }),
      LOOP,
      { type: 'operator', at: at(5), command: { kind: 'pause' } },
      FIRST,
    );
    assert.deepEqual([atRest.state.status, atRest.state.turn], ['paused', 'rest']);
  });

  test('returns them if it was never delivered', () => {
    const { state } = after(told, LOOP, steer('a'), FIRST, OVERRIDDEN);
    assert.deepEqual([ids(state.steering), state.notices], [['a'], told.notices]);
  });
});

describe('a prompt that took long to make', () => {
  const made = (outcome: 'ready' | 'given-up', seconds = 90): EngineEvent => ({
    type: 'prompt-made',
    at: at(seconds),
    outcome,
  });
  const told = running({ notices: { rejection: ['tests: fail'], misplacedSignal: null, warnings: [] } });
  const prompted = after(told, LOOP, steer('a'), turnEnded('Work.')).state;

  test('begins its iteration when it is ready and reports nothing further', () => {
    const { state, effects } = transition(prompted, made('ready'), LOOP);
    assert.deepEqual(effects, []);
    assert.deepEqual(state.lastDecision, { ...prompted.lastDecision, at: at(90) });
    assert.deepEqual({ ...state, lastDecision: null }, { ...prompted, lastDecision: null });
  });

  test('returns what it carried when it is dropped', () => {
    const { state, effects } = transition(prompted, made('given-up'), LOOP);
    assert.deepEqual([ids(state.steering), state.notices.rejection, state.inFlight], [['a'], ['tests: fail'], null]);
    assert.deepEqual(effects, []);
  });

  test('is held back by a pause that came meanwhile, with what it carried', () => {
    const { state, effects } = after(prompted, LOOP, command({ kind: 'pause' }), made('ready'));
    assert.equal(state.status, 'paused');
    assert.equal(step(effects)?.type, 'allow');
    assert.deepEqual([ids(state.steering), state.notices.rejection], [['a'], ['tests: fail']]);
  });

  test('is held back by a stop that came meanwhile, which ends the loop', () => {
    const { state } = after(prompted, LOOP, command({ kind: 'stop', clientAlive: true }), made('ready'));
    assert.ok(state.status === 'ended');
    assert.equal(state.ended.as, 'stopped');
  });
});

describe('a notice', () => {
  const notice = (key: string, warning = `about ${key}`): EngineEvent => ({ type: 'noticed', at: at(5), key, warning });

  test('is shown to the user at once and to the agent with the next prompt', () => {
    const { state, effects } = after(running(), LOOP, notice('k1'), notice('k2'));
    assert.deepEqual([recorded(effects), saying(effects, 'notice')['message']], [['notice'], 'about k2']);
    assert.deepEqual(effect(effects, 'notify'), { type: 'notify', message: 'about k2' });
    assert.deepEqual(state.announced, ['k1', 'k2']);
    const prompted = transition(state, turnEnded('Work.'), LOOP);
    assert.deepEqual(effect(prompted.effects, 'prompt').notices.warnings, ['about k1', 'about k2']);
  });

  test('with the same key is shown once, even after the prompt', () => {
    const { state, effects } = after(running(), LOOP, notice('k'), turnEnded('Work.'), notice('k', 'in other words'));
    assert.deepEqual([state.notices.warnings, effects], [[], []]);
  });
});

describe('background work that outlasted the longest wait', () => {
  const waitedOut = (...taskIds: string[]): EngineEvent => ({ type: 'waited-out', at: at(5), taskIds });

  test('is remembered', () => {
    const { state, effects } = after(running(), LOOP, waitedOut('t1'), waitedOut('t1', 't2'));
    assert.deepEqual([state.waitedOut, saying(effects, 'background.waited-out')['tasks']], [['t1', 't2'], ['t2']]);
  });

  test('is remembered once', () => {
    const before = after(running(), LOOP, waitedOut('t1')).state;
    assert.deepEqual(transition(before, waitedOut('t1'), LOOP), { state: before, effects: [] });
  });
});
