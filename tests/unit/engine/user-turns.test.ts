import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { outOfTime } from '../../../src/engine/policy/iteration-time.ts';
import { transition } from '../../../src/engine/transition.ts';
import {
  after,
  at,
  awaitingConsent,
  effect,
  IDLE_POLICY,
  paused,
  policy,
  recorded,
  running,
  SIGNAL,
  saying,
  step,
  turnEnded,
  verifying,
  waiting,
} from './support/loop.ts';

const LOOP = policy({ idle: IDLE_POLICY });

let prompts = 0;
function spoken(
  by: 'user' | 'notification' | 'continuation' = 'user',
  seconds = 50,
  promptId = `p${++prompts}`,
): EngineEvent {
  return { type: 'user-prompt', at: at(seconds), promptId, by };
}

describe('a prompt in the session', () => {
  test('that comes first is the launcher’s own and begins the loop’s work', () => {
    const { state, effects } = after(running({ turn: 'first' }), LOOP, spoken('user', 1, 'p-first'));
    assert.deepEqual([state.turn, state.promptId, effects], ['agent', 'p-first', []]);
  });

  test('that comes long after the start begins the time of the first iteration', () => {
    const started = { at: at(0), kind: 'started', detail: '' } as const;
    const before = running({ turn: 'first', lastDecision: started });
    const { state } = after(before, LOOP, spoken('user', 400));
    assert.equal(outOfTime(state, 300_000, at(410)), false);
    assert.equal(outOfTime(state, 300_000, at(701)), true, 'control: then it has its limit');
    const prompted = { at: at(0), kind: 'prompt', detail: '' } as const;
    assert.deepEqual(
      after({ ...before, lastDecision: prompted }, LOOP, spoken('user', 400)).state.lastDecision,
      prompted,
      'a launcher has begun it',
    );
  });

  test('under the id of the current turn was queued and changes nothing', () => {
    const before = running({ promptId: 'p' });
    const { state, effects } = after(before, LOOP, spoken('user', 50, 'p'));
    assert.deepEqual([state, effects], [before, []]);
  });

  test('without an id is never taken for a queued one', () => {
    const event: EngineEvent = { type: 'user-prompt', at: at(50), promptId: null, by: 'user' };
    assert.equal(after(running({ promptId: null }), LOOP, event).state.status, 'paused');
  });

  test('during the agent’s turn means that the user interrupted it', () => {
    for (const before of [running(), verifying()]) {
      const { state, effects } = after(before, LOOP, spoken());
      assert.ok(state.status === 'paused');
      assert.deepEqual([state.paused.reason, state.paused.since, state.turn], ['interrupted', at(50), 'user']);
      assert.deepEqual(recorded(effects), ['loop.paused']);
      assert.equal(saying(effects, 'loop.paused')['reason'], 'interrupted');
      assert.match(effect(effects, 'notify').message, /^Paused: the turn was interrupted\..*ralph-loop resume/);
      assert.equal(step(effects), null);
    }
  });

  test('while the loop waits is the user’s own turn', () => {
    for (const turn of ['agent', 'rest', 'user'] as const) {
      const { state, effects } = after(waiting({}, { turn }), LOOP, spoken());
      assert.deepEqual([state.status, state.turn, effects], ['waiting', 'user', []]);
    }
  });

  test('while the loop rests is the user’s own turn', () => {
    for (const turn of ['rest', 'user'] as const) {
      const { state, effects } = after(running({ turn }), LOOP, spoken());
      assert.deepEqual([state.status, state.turn, effects], ['running', 'user', []]);
    }
  });

  test('while the loop awaits consent or is paused changes only whose turn it is', () => {
    for (const before of [awaitingConsent(), paused('operator', { announced: [`paused ${at(1)}`] })]) {
      const { state, effects } = after(before, LOOP, spoken('user', 50, 'p'));
      assert.deepEqual([state, effects], [{ ...before, turn: 'user', promptId: 'p' }, []]);
    }
  });
});

describe('a notification of the client', () => {
  test('that background work ended starts the loop’s turn', () => {
    for (const turn of ['rest', 'agent', 'first'] as const) {
      assert.equal(after(running({ turn }), LOOP, spoken('notification')).state.turn, 'agent');
    }
  });

  test('that background work ended belongs to the user’s turn while they are answered', () => {
    assert.equal(after(running({ turn: 'user' }), LOOP, spoken('notification')).state.turn, 'user');
  });

  test('that background work ended starts nothing while the loop is paused', () => {
    const { state } = after(paused('operator', { turn: 'rest' }), LOOP, spoken('notification'));
    assert.deepEqual([state.status, state.turn], ['paused', 'user']);
  });

  test('that a limit has reset continues a loop that it had paused', () => {
    const { state, effects } = after(paused('rate-limited', { turn: 'rest' }), LOOP, spoken('continuation'));
    assert.deepEqual([state.status, state.turn, recorded(effects)], ['running', 'agent', ['loop.resumed']]);
    assert.equal(saying(effects, 'loop.resumed')['why'], 'the rate limit has passed');
  });

  test('that a limit has reset ends no other pause', () => {
    for (const reason of ['operator', 'interrupted', 'api-error', 'contract-changed'] as const) {
      const { state } = after(paused(reason, { turn: 'rest' }), LOOP, spoken('continuation'));
      assert.deepEqual([state.status, state.turn], ['paused', 'user']);
    }
  });

  test('that a limit has reset starts the loop’s turn if nothing was paused', () => {
    assert.equal(after(running({ turn: 'rest' }), LOOP, spoken('continuation')).state.turn, 'agent');
  });

  test('of another kind ends no rate limit', () => {
    assert.equal(after(paused('rate-limited'), LOOP, spoken('notification')).state.status, 'paused');
  });
});

describe('an answer to the user', () => {
  test('is neither counted nor searched for signals, and the loop continues', () => {
    const { state, effects } = after(running({ iteration: 3, turn: 'user' }), LOOP, turnEnded(SIGNAL, { at: at(60) }));
    assert.deepEqual([state.iteration, state.status, state.turn], [3, 'running', 'agent']);
    assert.deepEqual(recorded(effects), ['user.answered']);
    assert.equal(step(effects)?.type, 'prompt');
    assert.deepEqual(state.lastDecision, { at: at(60), kind: 'prompt', detail: 'after the user' });
    assert.equal(
      effects.some(({ type }) => type === 'record-iteration'),
      false,
    );
  });

  test('adds its cost', () => {
    const usage = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4 };
    const { state } = after(running({ turn: 'user' }), LOOP, turnEnded('Yes.', { usage, costUsd: 0.5 }));
    assert.deepEqual([state.usage.outputTokens, state.usage.costUsd], [2, 0.5]);
  });

  test('during a wait does not change the wait', () => {
    const { state, effects } = after(waiting({}, { turn: 'user' }), LOOP, turnEnded('Yes.', { at: at(10) }));
    assert.deepEqual([state.status, state.turn], ['waiting', 'rest']);
    assert.deepEqual(step(effects), { type: 'wait', until: at(30) });
    assert.deepEqual(recorded(effects), ['user.answered']);
    assert.deepEqual(state.lastDecision, { at: at(10), kind: 'wait', detail: 'after the user' });
  });

  test('during a wait can be followed by another', () => {
    const { state } = after(waiting({}, { turn: 'user' }), LOOP, turnEnded('Yes.'), spoken(), turnEnded('No.'));
    assert.deepEqual([state.status, state.iteration], ['waiting', 0]);
  });

  test('ends the loop if a stop was requested', () => {
    const { state } = after(running({ turn: 'user', stopRequested: true, iteration: 2 }), LOOP, turnEnded('Yes.'));
    assert.equal(state.status === 'ended' && state.ended.as, 'stopped');
    assert.equal(state.status === 'ended' && state.ended.message, 'Stopped by the user after 2 iterations.');
  });

  test('is not followed by a prompt beyond a limit', () => {
    const past = running({ turn: 'user', iteration: 5, maxIterations: 5 });
    const { state, effects } = after(past, LOOP, turnEnded('Yes.'));
    assert.equal(state.status === 'ended' && state.ended.as, 'max-iterations');
    assert.equal(step(effects)?.type, 'allow');
  });

  test('delivered twice continues the loop once', () => {
    const turn = turnEnded('Yes.');
    const { effects } = after(running({ turn: 'user' }), LOOP, turn, turn);
    assert.deepEqual(effects, [{ type: 'ignore' }]);
  });
});

describe('a command that the user typed into the client', () => {
  const typed = (change = {}) =>
    turnEnded('(no content)', { at: at(60), origin: 'user', promptId: 'p-command', ...change });

  test('during the agent’s turn means that they interrupted it', () => {
    const { state, effects } = after(running({ iteration: 3 }), LOOP, typed());
    assert.ok(state.status === 'paused');
    assert.deepEqual([state.paused.reason, state.iteration, state.turn], ['interrupted', 3, 'user']);
    assert.deepEqual(recorded(effects), ['loop.paused']);
    assert.equal(saying(effects, 'loop.paused')['reason'], 'interrupted');
    assert.deepEqual(step(effects), { type: 'allow', message: state.paused.message });
    assert.equal(state.promptId, 'p-command');
  });

  test('while the loop rests is not counted, and the loop continues', () => {
    const { state, effects } = after(running({ turn: 'rest', iteration: 3 }), LOOP, typed());
    assert.deepEqual([state.iteration, step(effects)?.type], [3, 'prompt']);
  });

  test('ends the loop if a stop was requested', () => {
    for (const turn of ['agent', 'rest'] as const) {
      const { state } = after(running({ turn, stopRequested: true }), LOOP, typed());
      assert.equal(state.status === 'ended' && state.ended.as, 'stopped');
    }
  });
});

describe('a turn that ends while the loop continues', () => {
  const released = (why: 'background' | 'message'): EngineEvent => ({ type: 'turn-released', at: at(50), why });

  test('for background work leaves the loop at rest', () => {
    const { state, effects } = after(running(), LOOP, released('background'));
    assert.deepEqual(
      [state.turn, recorded(effects), step(effects)],
      ['rest', ['turn.released'], { type: 'allow', message: null }],
    );
  });

  test('for a message is the user’s next', () => {
    const { state, effects } = after(running(), LOOP, released('message'));
    assert.deepEqual([state.turn, saying(effects, 'turn.released')['why']], ['user', 'message']);
    assert.equal(after(running({ turn: 'rest' }), LOOP, released('message')).state.turn, 'user');
  });

  test('for background work of an answer to the user is still the user’s when the work has ended', () => {
    const { state } = after(
      running({ turn: 'user', iteration: 3 }),
      LOOP,
      released('background'),
      spoken('notification'),
      turnEnded('Yes.'),
    );
    assert.equal(state.iteration, 3);
  });
});

test('a loop paused while it waited takes the message after resume as a message, not an interruption', () => {
  const { state } = after(
    waiting(),
    LOOP,
    { type: 'operator', at: at(10), command: { kind: 'pause' } },
    { type: 'time-passed', at: at(10), cause: 'elapsed', seen: null },
    { type: 'operator', at: at(20), command: { kind: 'resume' } },
    spoken(),
  );
  assert.deepEqual([state.status, state.turn], ['running', 'user']);
  assert.equal(step(transition(state, turnEnded('Going on.'), LOOP).effects)?.type, 'prompt');
});
