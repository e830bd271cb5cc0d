import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RUNNER_TEXTS } from '../../../src/drive/runner/messages.ts';
import type { ApiError, EngineEvent } from '../../../src/engine/events.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { transition } from '../../../src/engine/transition.ts';
import { CODEX_HOOKS } from '../../../src/hosts/codex/hook-output.ts';
import { localTime } from '../../../src/text/time.ts';
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
const refused = (error: Partial<ApiError>): EngineEvent => ({
  type: 'api-error',
  at: at(5),
  error: { kind: 'rate-limited', message: 'no', resetsAt: null, ...error },
});
const spoken = (seconds: number): EngineEvent => ({
  type: 'user-prompt',
  at: at(seconds),
  promptId: `at ${seconds}`,
  by: 'user',
});

describe('a rate limit', () => {
  test('pauses the loop until it resets', () => {
    for (const before of [running(), waiting(), verifying()]) {
      const { state, effects } = after(before, LOOP, refused({ resetsAt: at(100) }));
      assert.ok(state.status === 'paused');
      assert.deepEqual([state.paused.reason, state.paused.resumesAt, state.turn], ['rate-limited', at(100), 'rest']);
      assert.match(state.paused.message, new RegExp(`^Paused by a rate limit until ${localTime(at(100))}`));
      const { reason, error, resetsAt } = saying(effects, 'loop.paused');
      assert.deepEqual([reason, error, resetsAt], ['rate-limited', 'rate-limited', at(100)]);
      assert.deepEqual([effect(effects, 'notify').message, step(effects)], [state.paused.message, null]);
    }
  });

  test('without a known end says how to continue', () => {
    const { state } = after(running(), LOOP, refused({}));
    assert.match(
      state.status === 'paused' ? state.paused.message : '',
      /did not report when it resets\..*ralph-loop resume/,
    );
    const run = after(running({ mode: 'runner' }), LOOP, refused({ resetsAt: at(100) })).state;
    assert.match(run.status === 'paused' ? run.paused.message : '', /^Paused by a rate limit until [-\d: ]+\.$/);
  });

  test('that has passed continues the loop once the user has been answered', () => {
    const { state, effects } = after(running({ iteration: 3 }), LOOP, refused({ resetsAt: at(100) }), spoken(100));
    assert.deepEqual(
      [state.status, state.turn, saying(effects, 'loop.resumed')['why']],
      ['running', 'user', 'the rate limit has passed'],
    );
    const answered = transition(state, turnEnded('Hello again.'), LOOP);
    assert.deepEqual([step(answered.effects)?.type, answered.state.iteration], ['prompt', 3]);
  });

  test('that has not passed keeps the loop paused', () => {
    const { state, effects } = after(running(), LOOP, refused({ resetsAt: at(100) }), spoken(99));
    assert.deepEqual([state.status, state.turn], ['paused', 'user']);
    assert.match(effect(effects, 'notify').message, /^Paused by a rate limit until/);
  });

  test('without a known end keeps the loop paused', () => {
    assert.equal(after(running(), LOOP, refused({}), spoken(99_999)).state.status, 'paused');
  });

  test('does not affect another pause', () => {
    assert.equal(after(paused('interrupted', {}, at(1)), LOOP, spoken(99)).state.status, 'paused');
  });
});

describe('an API error', () => {
  const texts: [ApiError['kind'], RegExp][] = [
    ['authentication', /^Paused: the API refused the credentials \(no\)\. Log in again/],
    ['billing', /^Paused: the API refused for billing reasons \(no\)\. Fix the billing problem/],
    ['invalid-request', /^Paused by an API error \(invalid-request: no\)\..*ralph-loop resume/],
    ['overloaded', /^Paused by an API error \(overloaded: no\)\./],
    ['other', /^Paused by an API error \(other: no\)\./],
  ];
  for (const [kind, text] of texts) {
    test(`of the kind ${kind} pauses the loop and says what to do`, () => {
      const { state } = after(running(), LOOP, refused({ kind }));
      assert.ok(state.status === 'paused');
      assert.equal(state.paused.reason, 'api-error');
      assert.match(state.paused.message, text);
    });
  }

  test('ends a loop that its user has asked to stop after this turn', () => {
    for (const kind of ['rate-limited', 'overloaded'] as const) {
      const { state } = after(running({ stopRequested: true }), LOOP, refused({ kind, resetsAt: at(3600) }));
      assert.equal(state.status === 'ended' && state.ended.as, 'stopped');
    }
  });

  test('keeps the reason of a pause, and missing consent', () => {
    for (const before of [paused('operator', { turn: 'rest' }), awaitingConsent()]) {
      assert.deepEqual(transition(before, refused({}), LOOP), { state: before, effects: [] });
    }
  });

  test('in the turn of a pause ends that turn, so that a message after resume continues the loop', () => {
    const failed = after(
      running({ sessionId: 's', lastDecision: { at: at(1), kind: 'prompt', detail: 'next' } }),
      LOOP,
      command({ kind: 'pause' }),
      refused({}),
    );
    assert.deepEqual([failed.state.status, failed.state.turn, failed.effects], ['paused', 'rest', []]);
    const { state } = after(failed.state, LOOP, command({ kind: 'resume' }), spoken(9));
    assert.deepEqual([state.status, state.turn], ['running', 'user']);
  });

  test('that is a sentence is named without its full stop', () => {
    const { state } = after(running(), LOOP, refused({ kind: 'authentication', message: 'Please run /login.' }));
    assert.ok(state.status === 'paused');
    assert.equal(
      state.paused.text,
      'Paused: the API refused the credentials (Please run /login). Log in again (/login).',
    );
    assert.match(state.paused.message, /\(Please run \/login\)\. Log in .* session: ralph-loop resume\.$/);
  });

  test('names the login of the client that reported it', () => {
    const { state } = after(running(), LOOP, refused({ kind: 'authentication', login: CODEX_HOOKS.login }));
    assert.ok(state.status === 'paused');
    assert.match(state.paused.message, /Log in again \(codex login\)\./);
    const said = (host?: string) => RUNNER_TEXTS.refused('authentication', 'no.', host).text;
    assert.equal(said('codex'), 'Stopped: no. Log in again (codex login) or fix the API key.');
    assert.equal(said(), 'Stopped: no. Log in again (claude, then /login) or fix the API key.', 'control');
  });
});

describe('an interruption', () => {
  const interrupted = (by: 'signal' | 'client-exit'): EngineEvent => ({ type: 'interrupted', at: at(5), by });

  test('by Esc pauses the loop and says how to continue', () => {
    for (const before of [running(), waiting(), verifying()]) {
      const { state, effects } = after(before, LOOP, interrupted('signal'));
      assert.ok(state.status === 'paused');
      assert.deepEqual([state.paused.reason, state.turn], ['interrupted', 'rest']);
      assert.match(state.paused.message, /^Paused: the turn was interrupted\./);
      assert.deepEqual(
        [saying(effects, 'loop.paused')['by'], step(effects)],
        ['signal', { type: 'allow', message: state.paused.message }],
      );
      assert.equal(saying(effects, 'loop.paused')['reason'], 'interrupted');
    }
  });

  test("by Esc together with the client's exit says how to continue without it, and is told once", () => {
    const { state, effects } = after(waiting(), LOOP, interrupted('signal'), interrupted('client-exit'));
    assert.deepEqual(
      [saying(effects, 'loop.paused')['by'], step(effects)],
      ['client-exit', { type: 'allow', message: null }],
    );
    assert.deepEqual(transition(state, interrupted('client-exit'), LOOP).effects, [{ type: 'allow', message: null }]);
    const run = after({ ...waiting(), mode: 'runner' }, LOOP, interrupted('signal'), interrupted('client-exit'));
    assert.deepEqual(run.effects, [{ type: 'allow', message: null }], 'its user leaves a run by a key');
    assert.match(state.status === 'paused' ? state.paused.message : '', /the client exited.*ralph-loop resume/);
    assert.equal(state.status === 'paused' && state.paused.since, at(5));
  });

  test('by the end of the client says so', () => {
    const { state } = after(running(), LOOP, interrupted('client-exit'));
    assert.match(
      state.status === 'paused' ? state.paused.message : '',
      /^Interrupted: the client exited.*ralph-loop resume/,
    );
  });

  test('by the end of the client is reported for a pause that Esc or an exit began, and for no other', () => {
    const left = transition(paused('interrupted'), interrupted('client-exit'), LOOP).state;
    assert.match(left.status === 'paused' ? left.paused.message : '', /^Interrupted: the client exited/);
    for (const [reason, by] of [
      ['interrupted', 'signal'],
      ['operator', 'client-exit'],
    ] as const) {
      const before = paused(reason);
      const { state } = transition(before, interrupted(by), LOOP);
      assert.deepEqual('paused' in state && state.paused, 'paused' in before && before.paused);
    }
  });

  test('keeps the reason of a pause, and missing consent', () => {
    for (const before of [paused('operator', { turn: 'rest' }), awaitingConsent()]) {
      const { state, effects } = transition(before, interrupted('signal'), LOOP);
      // A turn that went on is over.
      assert.deepEqual(
        [state.status, state.turn, effects],
        [before.status, 'rest', [{ type: 'allow', message: null }]],
      );
      assert.deepEqual('paused' in state && state.paused, 'paused' in before && before.paused);
    }
  });

  test('lets everything through until resume, then the loop continues', () => {
    const away = after(running({ iteration: 3 }), LOOP, interrupted('signal'), spoken(10), turnEnded('Hello.'));
    assert.deepEqual([away.state.status, away.state.iteration, step(away.effects)?.type], ['paused', 3, 'allow']);
    const back = after(away.state, LOOP, command({ kind: 'resume' }), spoken(20), turnEnded('Going on.'));
    assert.deepEqual([back.state.status, back.state.iteration, step(back.effects)?.type], ['running', 3, 'prompt']);
  });
});

describe('a suspension', () => {
  const suspended: EngineEvent = {
    type: 'suspended',
    at: at(5),
    reason: 'contract-changed',
    message: 'The contract is gone.',
  };

  test('pauses the loop for its reason and lets the turn end', () => {
    const { state, effects } = after(running(), LOOP, suspended);
    assert.ok(state.status === 'paused');
    assert.deepEqual(state.paused, {
      since: at(5),
      reason: 'contract-changed',
      message: 'The contract is gone.',
      text: 'The contract is gone.',
      resumesAt: null,
    });
    assert.equal(state.turn, 'rest');
    assert.deepEqual(
      [saying(effects, 'loop.paused')['reason'], step(effects)],
      ['contract-changed', { type: 'allow', message: 'The contract is gone.' }],
    );
  });

  test('keeps the reason of a pause', () => {
    const { state, effects } = after(paused('operator'), LOOP, suspended);
    assert.deepEqual([state.status === 'paused' && state.paused.reason, state.turn], ['operator', 'rest']);
    assert.deepEqual(effects, [{ type: 'allow', message: 'paused for a test' }]);
  });

  test('of a loop that awaits consent only lets the turn end', () => {
    const { state, effects } = after(awaitingConsent(), LOOP, suspended);
    assert.deepEqual([state.status, state.turn], ['awaiting-consent', 'rest']);
    assert.deepEqual(effects, [{ type: 'allow', message: 'The contract is gone.' }]);
  });

  test('that was accepted treats the next message as a message, not as an interruption', () => {
    const { state } = after(
      running(),
      LOOP,
      suspended,
      command({ kind: 'accept', contractHash: 'h2', id: 'a1', changes: 'a -> b', maxIterations: 25 }),
      spoken(10),
    );
    assert.deepEqual([state.status, state.turn], ['running', 'user']);
  });
});

describe('time that passes for a loop that does not wait', () => {
  test('does not change a running or unconsented one', () => {
    for (const before of [running(), verifying(), awaitingConsent()]) {
      const { state, effects } = transition(before, timePassed('elapsed', 60), LOOP);
      assert.deepEqual([state, effects], [before, [{ type: 'allow', message: null }]]);
    }
  });

  test('ends the turn of a paused one with its reason', () => {
    const { state, effects } = transition(paused(), timePassed('elapsed', 60), LOOP);
    assert.deepEqual([state.turn, effects], ['rest', [{ type: 'allow', message: 'paused for a test' }]]);
  });

  test('leaves a turn that has ended alone', () => {
    const before = paused('operator', { turn: 'rest', announced: [`paused ${at(1)}`] });
    assert.equal(transition(before, timePassed('elapsed', 60), LOOP).state, before);
  });
});

describe('the message of a pause appears once', () => {
  const turnOver = (text: string): EngineEvent => turnEnded(text, { promptId: text });
  const heard = (before: LoopState, ...events: EngineEvent[]): (string | null)[] => {
    let state = before;
    return events.map((happened) => {
      const next = transition(state, happened, LOOP);
      state = next.state;
      const said = next.effects.find(({ type }) => type === 'notify' || type === 'allow');
      return said?.type === 'notify' || said?.type === 'allow' ? said.message : null;
    });
  };

  test('at the next message after Esc, whose own message the client drops', () => {
    const state = transition(waiting(), { type: 'interrupted', at: at(5), by: 'signal' }, LOOP).state;
    const [first, ...later] = heard(state, spoken(10), turnOver('Yes.'), spoken(20), turnOver('Yes, yes.'));
    assert.match(first ?? '', /^Paused: the turn was interrupted\..*ralph-loop resume/);
    assert.deepEqual(later, [null, null, null]);
  });

  test('at the turn’s end if no message came before', () => {
    assert.deepEqual(heard(paused('interrupted'), turnOver('Work.'), spoken(10), turnOver('Yes.')), [
      'paused for a test',
      null,
      null,
    ]);
  });

  test('at the message that triggers it', () => {
    const [first, ...later] = heard(running(), spoken(10), turnOver('Yes.'), spoken(20));
    assert.match(first ?? '', /^Paused: the turn was interrupted/);
    assert.deepEqual(later, [null, null]);
  });

  test('again in the next pause', () => {
    const resume: EngineEvent = { type: 'operator', at: at(30), command: { kind: 'resume' } };
    const pause: EngineEvent = { type: 'operator', at: at(40), command: { kind: 'pause' } };
    const said = heard(paused(), turnOver('Work.'), resume, pause, turnOver('More work.'));
    assert.match(said.at(-1) ?? '', /^Paused by the user/);
  });
});

test('an iteration in which the user pauses counts from its prompt on', () => {
  const prompted = { at: at(2), kind: 'prompt', detail: '' } as const;
  const before = running({ sessionId: 'session', lastDecision: prompted });
  const { state } = after(before, LOOP, command({ kind: 'pause' }, 30));
  assert.equal(state.status, 'paused');
  const { record } = effect(after(state, LOOP, turnEnded('Work.')).effects, 'record-iteration');
  assert.deepEqual([record.startedAt, record.durationMs], [at(2), 58_000]);
});

test('a pause is recorded under its own name', () => {
  assert.deepEqual(recorded(after(running(), LOOP, refused({})).effects), ['loop.paused']);
});

describe('a share of the account’s limits', () => {
  const window = { name: 'five_hour' as const, used: 0.85, resetsAt: at(900) };
  const LIMITED = policy({
    budget: { ...policy().budget, stopAt: { five_hour: 0.8, seven_day: null } },
  });

  test('that is used pauses the loop until the limit resets, before the next prompt', () => {
    const { state, effects } = transition(running({ limits: [window] }), turnEnded('More to do.'), LIMITED);
    assert.equal(state.status, 'paused');
    assert.equal(state.turn, 'rest');
    assert.ok(state.status === 'paused');
    assert.deepEqual([state.paused.reason, state.paused.resumesAt], ['rate-limited', at(900)]);
    assert.match(state.paused.message, /85 % of the five-hour limit is used/);
    const event = effects.find((one) => one.type === 'record-event' && one.event.type === 'loop.paused');
    assert.ok(event?.type === 'record-event');
    assert.deepEqual(
      [event.event['reason'], event.event['window'], event.event['used'], event.event['resetsAt']],
      ['rate-limited', 'five_hour', 0.85, at(900)],
    );
    assert.deepEqual(step(effects), { type: 'allow', message: state.paused.message });
  });
  test('that is used also pauses a retry', () => {
    const made = { type: 'prompt-made', at: at(70), outcome: 'ready' } as const;
    const { state, effects } = transition(running({ limits: [window] }), made, LIMITED);
    assert.equal(state.status, 'paused');
    assert.equal(step(effects)?.type, 'allow');
    assert.equal(transition(running({ limits: [window] }), made, policy()).state.status, 'running');
  });
  test('that was used before the limit reset does not', () => {
    const late = { ...turnEnded('More to do.'), at: at(901) };
    assert.equal(transition(running({ limits: [window] }), late, LIMITED).state.status, 'running');
  });
});
