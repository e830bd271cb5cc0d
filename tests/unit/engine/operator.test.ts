import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { OperatorCommand } from '../../../src/engine/events.ts';
import { CLOSED_BREAKER } from '../../../src/engine/policy/breaker.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
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
  verifying,
  waiting,
} from './support/loop.ts';

const LOOP = policy({ idle: IDLE_POLICY });
const EVERY = {
  running: running(),
  waiting: waiting(),
  verifying: verifying(),
  paused: paused(),
  awaiting: awaitingConsent(),
};
const give = (state: LoopState, given: OperatorCommand) => transition(state, command(given), LOOP);

describe('stop', () => {
  const alive = { kind: 'stop', clientAlive: true } as const;

  test('lets an agent at work finish its iteration first', () => {
    for (const before of [running(), verifying(), running({ turn: 'first' }), running({ turn: 'user' })]) {
      const { state, effects } = give(before, alive);
      assert.deepEqual(
        [state, recorded(effects), step(effects)],
        [{ ...before, stopRequested: true }, ['operator.stop'], null],
      );
    }
  });

  test('ends the loop at the iteration’s end, also of one in which the user paused it', () => {
    const atWork = running({ sessionId: 's', lastDecision: { at: at(1), kind: 'prompt', detail: 'next' } });
    for (const before of [running(), give(atWork, { kind: 'pause' }).state]) {
      const { state } = after(before, LOOP, command(alive), turnEnded('Work.'));
      assert.equal(state.status === 'ended' && state.ended.message, 'Stopped by the user after 1 iteration.');
      assert.equal(state.iteration, 1);
    }
  });

  test('given twice changes nothing more', () => {
    const first = give(running(), alive).state;
    const { state, effects } = give(first, alive);
    assert.deepEqual([state, effects], [first, []]);
  });

  test('ends a loop without an agent at work at once', () => {
    for (const before of [
      waiting(),
      paused('operator', { turn: 'rest' }),
      awaitingConsent(),
      running({ turn: 'rest' }),
      verifying({ turn: 'rest' }),
    ]) {
      const { state, effects } = give(before, alive);
      assert.equal(state.status === 'ended' && state.ended.as, 'stopped');
      assert.equal(effect(effects, 'archive').as, 'stopped');
    }
  });

  test('ends a loop whose client is dead at once', () => {
    const { state } = give(running(), { kind: 'stop', clientAlive: false });
    assert.equal(state.status === 'ended' && state.ended.as, 'stopped');
  });
});

test('cancel ends a loop in any state at once and names the archive', () => {
  for (const before of Object.values(EVERY)) {
    const { state, effects } = give(before, { kind: 'cancel' });
    assert.ok(state.status === 'ended');
    assert.deepEqual(
      [state.ended.as, state.ended.at, effect(effects, 'archive').as],
      ['cancelled', at(5), 'cancelled'],
    );
    assert.match(
      state.ended.message,
      /^Cancelled by the user after \d iterations?\. Nothing was deleted\. Show the archive: ralph-loop archive/,
    );
  }
});

describe('pause', () => {
  test('pauses a running loop', () => {
    for (const before of [running(), waiting(), verifying()]) {
      const { state, effects } = give(before, { kind: 'pause' });
      assert.ok(state.status === 'paused');
      const { message } = state.paused;
      const text = 'Paused by the user.';
      assert.deepEqual(state.paused, { since: at(5), reason: 'operator', message, text, resumesAt: null });
      assert.match(message, /^Paused by the user\. .*ralph-loop resume/);
      assert.deepEqual(state.lastDecision, { at: at(5), kind: 'allow', detail: 'paused: operator' });
      assert.equal(saying(effects, 'loop.paused')['reason'], 'operator');
      assert.equal(step(effects), null);
    }
  });

  test('names the session only where one works on the loop', () => {
    const said = (mode: 'hook' | 'runner'): string => {
      const { state } = give(running({ mode }), { kind: 'pause' });
      return state.status === 'paused' ? state.paused.message : '';
    };
    assert.equal(said('runner'), 'Paused by the user. Resume: ralph-loop resume.');
    assert.match(
      said('hook'),
      /^Paused by the user\. Resume in another terminal, then send any message in the session: /,
    );
  });

  test('keeps the reason of a paused loop and the missing consent of an unconsented one', () => {
    for (const before of [paused('interrupted'), paused('evidence-lost'), awaitingConsent()]) {
      assert.deepEqual(give(before, { kind: 'pause' }), { state: before, effects: [] });
    }
  });

  test('takes the place of a wait for a rate limit or a server, which would end by itself', () => {
    for (const reason of ['rate-limited', 'api-error'] as const) {
      const { state } = give(paused(reason), { kind: 'pause' });
      assert.ok(state.status === 'paused');
      assert.deepEqual([state.paused.reason, state.paused.resumesAt], ['operator', null]);
      const gone = { type: 'user-prompt', at: at(9), promptId: null, by: 'continuation' } as const;
      assert.equal(transition(state, gone, LOOP).state.status, 'paused');
    }
  });

  test('counts the turn that the agent finishes meanwhile, then pauses with the reason', () => {
    const { state, effects } = after(paused(), LOOP, turnEnded('Work.'));
    assert.deepEqual([state.status, state.iteration, state.turn], ['paused', 1, 'rest']);
    assert.match(effect(effects, 'allow').message ?? '', /^Paused by the user\. .*ralph-loop resume/);
    const idle = after(paused(), LOOP, turnEnded('<!-- ralph:state idle -->'));
    assert.deepEqual([idle.state.status, idle.state.idleIterations], ['paused', 1]);
    const next = transition(state, turnEnded('More.', { promptId: 'p2' }), LOOP);
    assert.deepEqual([next.state.status, next.state.iteration], ['paused', 1], 'a turn of a resting client is none');
  });

  test('verifies a claim made meanwhile: it holds, or the loop pauses', () => {
    const claim = after(paused(), LOOP, turnEnded('RALPH_AUDIT_COMPLETE_NO_FINDINGS'));
    assert.equal(claim.state.status, 'verifying');
    const verified = (outcome: 'ok' | 'failed'): LoopState =>
      transition(claim.state, { type: 'verified', at: at(9), results: [{ name: 'true', outcome, detail: '' }] }, LOOP)
        .state;
    assert.equal(verified('ok').status, 'ended');
    const refused = verified('failed');
    assert.deepEqual([refused.status, refused.iteration, refused.pauseRequested], ['paused', 1, false]);
    const resumed = after(claim.state, LOOP, command({ kind: 'resume' })).state;
    assert.equal(resumed.pauseRequested, false, 'a resume while the checks run takes the pause back');
  });

  test('does not count what ends after any other pause', () => {
    const { state, effects } = after(paused('interrupted'), LOOP, turnEnded('Work.'));
    assert.deepEqual([state.status, state.iteration, state.turn], ['paused', 0, 'rest']);
    assert.deepEqual(effects, [{ type: 'allow', message: 'paused for a test' }]);
  });

  test('still counts the cost of those turns, each once', () => {
    const usage = { inputTokens: 1, outputTokens: 2, cacheReadTokens: 3, cacheWriteTokens: 4 };
    const turn = turnEnded('Work.', { usage });
    const { state, effects } = after(paused(), LOOP, turn, turn);
    assert.deepEqual([state.usage.outputTokens, effects], [2, [{ type: 'ignore' }]]);
  });

  test('ends a wait, and the turn with it', () => {
    const { state, effects } = after(waiting(), LOOP, command({ kind: 'pause' }), timePassed('elapsed', 6));
    assert.deepEqual([state.status, state.turn], ['paused', 'rest']);
    assert.match(effect(effects, 'allow').message ?? '', /^Paused by the user/);
  });
});

describe('resume', () => {
  test('continues a paused loop with the breaker closed', () => {
    const open = { ...CLOSED_BREAKER, denials: 2 };
    const { state, effects } = give(paused('operator', { breaker: open, turn: 'rest', iteration: 7 }), {
      kind: 'resume',
    });
    assert.deepEqual(
      [state.status, state.breaker, state.iteration, state.turn],
      ['running', CLOSED_BREAKER, 7, 'rest'],
    );
    assert.equal('paused' in state, false);
    assert.deepEqual(
      [recorded(effects), saying(effects, 'loop.resumed')['why'], step(effects)],
      [['loop.resumed'], 'operator', null],
    );
  });

  test('by a launcher expects its own prompt next', () => {
    const { state, effects } = give(paused('rate-limited', { turn: 'rest' }), { kind: 'resume', by: 'launcher' });
    assert.deepEqual([state.status, state.turn], ['running', 'first']);
    assert.equal(saying(effects, 'loop.resumed')['why'], 'the wait is over');
  });

  test('does not change a loop that is not paused', () => {
    for (const before of [running(), waiting(), verifying(), awaitingConsent()]) {
      assert.deepEqual(give(before, { kind: 'resume' }), { state: before, effects: [] });
    }
  });
});

describe('wake', () => {
  test('is noted in a waiting loop, which continues when its driver looks', () => {
    const { state, effects } = give(waiting(), { kind: 'wake' });
    assert.equal(state.status === 'waiting' && state.waiting.woken, true);
    assert.deepEqual([recorded(effects), step(effects)], [['operator.wake'], null]);
    assert.equal(step(transition(state, timePassed('elapsed', 6), LOOP).effects)?.type, 'prompt');
  });

  test('changes nothing twice, and nothing in a loop that does not wait', () => {
    for (const before of [waiting({ woken: true }), running(), paused()]) {
      assert.deepEqual(give(before, { kind: 'wake' }), { state: before, effects: [] });
    }
  });
});

describe('consent', () => {
  test('begins a loop that an agent asked for', () => {
    const { state, effects } = give(awaitingConsent(), { kind: 'consent', contractHash: 'agreed' });
    assert.deepEqual([state.status, recorded(effects), step(effects)], ['running', ['operator.consent'], null]);
    assert.equal(state.contractHash, 'agreed');
  });

  test('does not change another loop', () => {
    for (const before of [running(), waiting(), paused()]) {
      assert.deepEqual(give(before, { kind: 'consent', contractHash: 'agreed' }), { state: before, effects: [] });
    }
  });

  test('is awaited in every turn until it is given, and nothing is counted', () => {
    const { state, effects } = after(awaitingConsent(), LOOP, turnEnded('Work.'));
    assert.deepEqual([state.status, state.iteration], ['awaiting-consent', 0]);
    assert.deepEqual(effects, [
      { type: 'allow', message: 'This loop awaits your consent. Agree: ralph-loop start --consent.' },
    ]);
  });

  test('cannot be bypassed by a pause', () => {
    for (const given of [
      command({ kind: 'pause' }),
      { type: 'suspended', at: at(5), reason: 'contract-changed', message: 'm' } as const,
      { type: 'interrupted', at: at(5), by: 'client-exit' } as const,
      { type: 'api-error', at: at(5), error: { kind: 'overloaded', message: 'm', resetsAt: null } } as const,
    ]) {
      const { state } = after(awaitingConsent(), LOOP, given, command({ kind: 'resume' }));
      assert.equal(state.status, 'awaiting-consent');
    }
  });
});

describe('accept', () => {
  const accepted = { kind: 'accept', contractHash: 'h2', id: 'a1', changes: 'a -> b', maxIterations: 40 } as const;

  test('adopts the new contract in any state', () => {
    for (const before of Object.values(EVERY)) {
      const { state, effects } = give(before, accepted);
      assert.deepEqual([state.contractHash, state.maxIterations, state.status], ['h2', 40, before.status]);
      assert.equal(saying(effects, 'operator.accept')['contractHash'], 'h2');
    }
  });

  test('announces the change to the agent once, and not as words of the user', () => {
    const { state } = give(give(EVERY.running, accepted).state, accepted);
    assert.deepEqual(
      state.steering.map(({ id, delivery, announces }) => [id, delivery, announces]),
      [['a1', 'now', 'accept']],
    );
    assert.match(state.steering[0]?.text ?? '', /changed by ralph-loop accept: a -> b/);
  });

  test('continues a loop that was paused for the contract', () => {
    assert.equal(give(paused('contract-changed'), accepted).state.status, 'running');
  });

  test('of a lower limit ends the loop before its next prompt', () => {
    const { state } = after(
      waiting({}, { iteration: 9 }),
      LOOP,
      command({ ...accepted, maxIterations: 5 }),
      timePassed('elapsed', 30),
    );
    assert.equal(state.status === 'ended' && state.ended.as, 'max-iterations');
  });
});

describe('a command', () => {
  const bound = { sessionId: 'session', clientPid: 7 } as const;
  const messageOf = ({ state }: { readonly state: LoopState }) => (state.status === 'ended' ? state.ended.message : '');
  const cancelled = (state: LoopState, flag?: true) =>
    messageOf(transition(state, command({ kind: 'cancel', ...(flag && { flag }) }), LOOP));

  test('by a file in the task folder says so', () => {
    const stopped = transition(running(bound), command({ kind: 'stop', clientAlive: true, flag: true }), LOOP);
    assert.equal(stopped.state.stopFlag, true);
    const event = stopped.effects.find((one) => one.type === 'record-event');
    assert.equal(event?.type === 'record-event' && event.event['by'], 'flag');
    const byUser = transition(running(bound), command({ kind: 'stop', clientAlive: true }), LOOP);
    assert.equal('stopFlag' in byUser.state, false);
    const plain = byUser.effects.find((one) => one.type === 'record-event');
    assert.equal(plain?.type === 'record-event' && 'by' in plain.event, false);
    assert.match(cancelled(running(), true), /Cancelled by the file cancel\.flag/);
    assert.match(cancelled(running()), /Cancelled by the user/);
  });
  test('to cancel names the iteration that an agent works on', () => {
    for (const turn of ['agent', 'first'] as const) {
      assert.match(cancelled(running({ ...bound, iteration: 2, turn })), /during iteration 3/, turn);
    }
    for (const turn of ['user', 'rest'] as const) {
      assert.match(cancelled(running({ ...bound, iteration: 2, turn })), /after 2 iterations/, turn);
    }
    assert.match(cancelled(running({ iteration: 2 })), /after 2 iterations/, 'no session has had a prompt');
    assert.match(cancelled(waiting({}, { ...bound, iteration: 2 })), /after 2 iterations/);
  });
  test('to resume resets the account’s limits, so that the loop continues above its share', () => {
    const limits = [{ name: 'five_hour' as const, used: 0.9, resetsAt: null }];
    const held = paused('rate-limited', { limits });
    assert.deepEqual(transition(held, command({ kind: 'resume' }), LOOP).state.limits, []);
    assert.equal('limits' in transition(paused(), command({ kind: 'resume' }), LOOP).state, false);
  });
});
