import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { idleLimitText } from '../../../src/engine/messages.ts';
import { anotherIdle, clockSetBack, idleElapsed, idleWait, NOT_IDLE } from '../../../src/engine/policy/loop-time.ts';
import type { IdlePolicy } from '../../../src/engine/schema/contract.ts';
import type { IdleState, LoopState } from '../../../src/engine/schema/state.ts';
import { transition } from '../../../src/engine/transition.ts';
import {
  after,
  at,
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
  waiting,
} from './support/loop.ts';

const idle = (change: Partial<IdlePolicy> = {}) => policy({ idle: { ...IDLE_POLICY, ...change } });
const idleTurn = (seconds: number, change = {}) => turnEnded(`Nothing to do.\n${IDLE}`, { at: at(seconds), ...change });

/** The delays of a loop that stays idle and always wakes on time, in seconds, until it ends. */
function delays(given: IdlePolicy): { seconds: number[]; end: LoopState } {
  let now = 0;
  let state: LoopState = running();
  const seconds: number[] = [];
  for (let turns = 0; turns < 1_000; turns++) {
    const slept = transition(state, idleTurn(now), policy({ idle: given }));
    if (slept.state.status !== 'waiting') return { seconds, end: slept.state };
    const { delayMs } = slept.state.waiting;
    seconds.push(delayMs / 1000);
    now += delayMs / 1000;
    const next = transition(slept.state, timePassed('elapsed', now), policy({ idle: given }));
    if (next.state.status !== 'running') return { seconds, end: next.state };
    state = next.state;
  }
  throw new Error('it is idle for ever');
}

describe('the wait after the k-th idle iteration', () => {
  const streak = (consecutive: number): IdleState => ({ since: at(0), consecutive, lastCallAt: at(0) });
  const wait = (consecutive: number, seconds = 0, change: Partial<IdlePolicy> = {}) =>
    idleWait(streak(consecutive), { ...IDLE_POLICY, ...change }, at(seconds));

  test('is the delay after the first', () => assert.deepEqual(wait(1), { delayMs: 30_000, last: false }));
  test('grows by the backoff', () => assert.deepEqual(wait(3), { delayMs: 120_000, last: false }));
  test('never passes max_delay', () => assert.deepEqual(wait(9), { delayMs: 300_000, last: false }));
  test('never passes max_delay when the backoff passes every number', () => {
    assert.deepEqual(wait(100_000), { delayMs: 300_000, last: false });
  });
  test('is the delay if nothing was counted yet', () => assert.deepEqual(wait(0), { delayMs: 30_000, last: false }));
  test('stays the same with a backoff of 1', () => assert.deepEqual(wait(7, 0, { backoff: 1 })?.delayMs, 30_000));
  test('is cut to what is left of max, and is the last', () => {
    assert.deepEqual(wait(9, 3_500), { delayMs: 100_000, last: true });
  });
  test('is the last when it ends exactly at max', () =>
    assert.deepEqual(wait(9, 3_300), { delayMs: 300_000, last: true }));
  test('is not the last one millisecond earlier', () => {
    assert.deepEqual(idleWait(streak(9), IDLE_POLICY, at(3_299.999)), { delayMs: 300_000, last: false });
  });
  test('does not exist if nothing is left', () => {
    assert.equal(wait(9, 3_600), null);
    assert.equal(wait(9, 9_999), null);
  });
});

describe('an idle loop', () => {
  test('waits 30, 60, 120, 240, 300, 300 … seconds by default and ends when max has passed', () => {
    const { seconds, end } = delays(IDLE_POLICY);
    assert.deepEqual(seconds.slice(0, 6), [30, 60, 120, 240, 300, 300]);
    assert.equal(
      seconds.reduce((sum, one) => sum + one, 0),
      3_600,
    );
    assert.equal(end.status === 'ended' && end.ended.as, 'idle-limit');
    assert.equal(end.status === 'ended' && end.ended.message, 'Stopped after being idle for 1h (idle.max is 1h).');
  });

  test('ends after one wait when max equals the delay', () => {
    const { seconds, end } = delays({ ...IDLE_POLICY, maxMs: 30_000 });
    assert.deepEqual([seconds, end.status], [[30], 'ended']);
  });

  test('counts idle iterations apart from working ones', () => {
    const { state } = after(running({ iteration: 3 }), idle(), idleTurn(60));
    assert.deepEqual([state.iteration, state.idleIterations, state.lastRunAt], [3, 1, at(60)]);
  });

  test('records an idle iteration with its wait', () => {
    const { state, effects } = after(running({ iteration: 3, idleIterations: 1 }), idle(), idleTurn(60));
    assert.deepEqual(saying(effects, 'iteration.idle'), {
      type: 'iteration.idle',
      at: at(60),
      loopId: 'loop-1',
      iteration: 3,
      consecutiveIdle: 1,
      delayMs: 30_000,
      idleElapsedMs: 0,
      states: ['idle'],
    });
    assert.equal(recorded(effects).includes('iteration.completed'), false);
    assert.deepEqual(effect(effects, 'wait'), { type: 'wait', until: at(90) });
    const { kind, decision, idleIterations } = effect(effects, 'record-iteration').record;
    assert.deepEqual([kind, decision, idleIterations], ['idle', 'waiting', 2]);
    assert.deepEqual(state.lastDecision, { at: at(60), kind: 'wait', detail: 'idle' });
    assert.deepEqual(state.status === 'waiting' && state.waiting, {
      since: at(60),
      until: at(90),
      delayMs: 30_000,
      last: false,
      woken: false,
      seen: null,
    });
  });

  test('records how long it has been idle with the second one', () => {
    const { effects } = after(running(), idle(), idleTurn(60), timePassed('elapsed', 90), idleTurn(100));
    const { consecutiveIdle, delayMs, idleElapsedMs } = saying(effects, 'iteration.idle');
    assert.deepEqual([consecutiveIdle, delayMs, idleElapsedMs], [2, 60_000, 40_000]);
  });

  test('records an idle iteration that a limit ends', () => {
    const spent = { ...policy().budget, maxTimeMs: 30_000 };
    const { effects } = after(running(), { ...idle(), budget: spent }, idleTurn(60));
    assert.deepEqual(recorded(effects), ['iteration.idle', 'loop.ended']);
    assert.equal(saying(effects, 'iteration.idle')['delayMs'], 0);
    assert.equal(effect(effects, 'record-iteration').record.decision, 'budget-exhausted');
  });

  test('leaves the breaker and the findings as they are', () => {
    const before = running({ iteration: 3, lastFindingsCount: 2 });
    const { state } = after(before, idle(), idleTurn(60));
    assert.deepEqual([state.breaker, state.lastFindingsCount], [before.breaker, 2]);
  });

  test('restarts its streak after an iteration that was not idle', () => {
    const { state } = after(
      running(),
      idle(),
      idleTurn(60),
      timePassed('elapsed', 90),
      turnEnded('Work.', { at: at(100) }),
    );
    assert.deepEqual(state.idle, NOT_IDLE);
    assert.equal(state.iteration, 1);
  });

  test('keeps working if the marker is present and idle is off', () => {
    const { state, effects } = after(running(), policy(), idleTurn(60));
    assert.deepEqual([state.iteration, state.idleIterations, step(effects)?.type], [1, 0, 'prompt']);
    assert.deepEqual(saying(effects, 'iteration.completed')['states'], ['idle']);
  });

  test('does not begin if the iteration failed', () => {
    const { state, effects } = after(running(), idle(), idleTurn(60, { error: 'timed out' }));
    assert.deepEqual([state.status, state.iteration], ['running', 1]);
    assert.equal(saying(effects, 'iteration.failed')['error'], 'timed out');
  });

  test('does not begin on another state', () => {
    const { state, effects } = after(running(), idle(), turnEnded('<!-- ralph:state blocked -->'));
    assert.deepEqual([state.status, state.iteration], ['running', 1]);
    assert.deepEqual(effect(effects, 'record-iteration').record.states, ['blocked']);
  });

  test('yields to a findings count in the same message', () => {
    const { state } = after(running(), idle(), turnEnded(`RALPH_ITERATION_COMPLETE: 2 findings remain\n${IDLE}`));
    assert.deepEqual([state.status, state.iteration, state.lastFindingsCount], ['running', 1, 2]);
  });

  test('yields to a completion signal in the same message', () => {
    const { state } = after(running(), idle(), turnEnded(`${SIGNAL}\n${IDLE}`));
    assert.deepEqual([state.status, state.iteration], ['verifying', 1]);
  });

  test('keeps a notice about a misplaced signal for its next prompt', () => {
    const slept = after(running(), idle(), turnEnded(`No ${SIGNAL} yet.\n${IDLE}`, { at: at(60) }));
    assert.equal(slept.state.status, 'waiting');
    const { effects } = transition(slept.state, timePassed('elapsed', 90), idle());
    assert.match(effect(effects, 'prompt').notices.misplacedSignal ?? '', new RegExp(SIGNAL));
  });
});

describe('a waiting loop', () => {
  test('keeps waiting for the same instant if it is asked too early', () => {
    const early = transition(waiting(), timePassed('elapsed', 29.999), idle());
    assert.deepEqual([early.state, early.effects], [waiting(), [{ type: 'wait', until: at(30) }]]);
  });

  test('continues when the time has come', () => {
    const { state, effects } = transition(waiting(), timePassed('elapsed', 30), idle());
    assert.deepEqual([state.status, state.turn, recorded(effects)], ['running', 'agent', ['idle.ended']]);
    assert.equal(saying(effects, 'idle.ended')['why'], 'the wait is over');
    assert.equal(effect(effects, 'prompt').type, 'prompt');
    assert.deepEqual(state.lastDecision, { at: at(30), kind: 'prompt', detail: 'the wait is over' });
  });

  test('continues long after, when the machine slept', () => {
    assert.equal(step(transition(waiting(), timePassed('elapsed', 99_999), idle()).effects)?.type, 'prompt');
  });

  test('ends when its last wait is over, with no further call', () => {
    const { state, effects } = transition(waiting({ last: true }), timePassed('elapsed', 30), idle());
    assert.equal(state.status === 'ended' && state.ended.as, 'idle-limit');
    assert.equal(step(effects)?.type, 'allow');
  });

  test('continues when what it watches changed, even in its last wait', () => {
    const { effects } = transition(waiting({ last: true }), timePassed('changed', 10), idle());
    assert.equal(saying(effects, 'idle.ended')['why'], 'something changed');
    assert.equal(step(effects)?.type, 'prompt');
  });

  test('continues before the hook’s own time is up', () => {
    const { effects } = transition(waiting(), timePassed('deadline', 10), idle());
    assert.equal(saying(effects, 'idle.ended')['why'], 'the hook has to answer before its timeout');
    assert.equal(step(effects)?.type, 'prompt');
  });

  test('continues if idle was switched off meanwhile', () => {
    for (const cause of ['elapsed', 'quiet'] as const) {
      const { effects } = transition(waiting(), timePassed(cause, 30), policy());
      assert.equal(saying(effects, 'idle.ended')['why'], 'idle is off');
      assert.equal(step(effects)?.type, 'prompt');
    }
  });

  test('continues when it is woken, whatever else happened', () => {
    for (const cause of ['elapsed', 'quiet', 'message', 'changed'] as const) {
      const { effects } = transition(waiting({ woken: true, last: true }), timePassed(cause, 1), idle());
      assert.equal(saying(effects, 'idle.ended')['why'], 'woken');
      assert.equal(step(effects)?.type, 'prompt');
    }
  });

  test('lets the turn end for a message of the user and waits on afterwards', () => {
    const { state, effects } = transition(waiting(), timePassed('message', 10), idle());
    assert.deepEqual([state.status, state.turn, effects], ['waiting', 'user', [{ type: 'allow', message: null }]]);
  });

  test('lets the turn end for a notification of the client', () => {
    const { state, effects } = transition(waiting(), timePassed('notification', 10), idle());
    assert.deepEqual([state.status, state.turn, effects], ['waiting', 'rest', [{ type: 'allow', message: null }]]);
  });

  test('ends as budget-exhausted instead of prompting if its time ran out while it waited', () => {
    const spent = { ...idle(), budget: { ...policy().budget, maxTimeMs: 20_000 } };
    for (const cause of ['elapsed', 'changed', 'deadline'] as const) {
      const { state, effects } = transition(waiting(), timePassed(cause, 30), spent);
      assert.equal(state.status === 'ended' && state.ended.as, 'budget-exhausted');
      assert.equal(step(effects)?.type, 'allow');
    }
  });

  test('ends as max-iterations instead of prompting if the limit was lowered while it waited', () => {
    const { state } = transition(waiting({}, { iteration: 5, maxIterations: 5 }), timePassed('elapsed', 30), idle());
    assert.equal(state.status === 'ended' && state.ended.as, 'max-iterations');
  });
});

describe('wake on change', () => {
  const change = (more: Partial<IdlePolicy> = {}) => idle({ wake: 'change', watch: ['src/**'], ...more });

  test('keeps the fingerprint from when the agent said idle', () => {
    const { state } = after(running(), change(), idleTurn(60, { seen: 'abc' }));
    assert.equal(state.status === 'waiting' && state.waiting.seen, 'abc');
  });

  test('looks when the time has come and does not call the model', () => {
    const { state, effects } = transition(waiting(), timePassed('elapsed', 30), change());
    assert.deepEqual([state, effects], [waiting(), [{ type: 'look' }]]);
  });

  test('looks a last time after the last wait, and then ends', () => {
    const looking = transition(waiting({ last: true }), timePassed('elapsed', 30), change());
    assert.deepEqual(looking.effects, [{ type: 'look' }]);
    const { state } = transition(looking.state, timePassed('quiet', 30), change());
    assert.equal(state.status === 'ended' && state.ended.as, 'idle-limit');
  });

  test('waits again if nothing changed, and no counter moves', () => {
    const before = waiting(
      {},
      { iteration: 2, idleIterations: 4, idle: { since: at(0), consecutive: 4, lastCallAt: at(0) } },
    );
    const { state, effects } = transition(before, timePassed('quiet', 30), change());
    assert.deepEqual(effects, [{ type: 'wait', until: at(270) }]);
    assert.deepEqual([state.iteration, state.idleIterations, state.idle], [2, 4, before.idle]);
    assert.deepEqual(state.status === 'waiting' && state.waiting, {
      since: at(0),
      until: at(270),
      delayMs: 240_000,
      last: false,
      woken: false,
      seen: null,
    });
  });

  test('cuts the next wait to what is left of max', () => {
    const { state } = transition(waiting(), timePassed('quiet', 3_590), change());
    assert.deepEqual(state.status === 'waiting' && [state.waiting.delayMs, state.waiting.last], [10_000, true]);
  });

  test('ends if nothing is left of max', () => {
    const { state } = transition(waiting(), timePassed('quiet', 3_600), change());
    assert.equal(state.status === 'ended' && state.ended.as, 'idle-limit');
  });

  test('calls the model after max_quiet although nothing changed', () => {
    const due = change({ maxQuietMs: 600_000 });
    assert.equal(step(transition(waiting(), timePassed('quiet', 599.999), due).effects)?.type, 'wait');
    const { effects } = transition(waiting(), timePassed('quiet', 600), due);
    assert.equal(saying(effects, 'idle.ended')['why'], 'max_quiet has passed');
    assert.equal(step(effects)?.type, 'prompt');
  });

  test('counts max_quiet from the wait if the last call of the model is unknown', () => {
    const state = waiting({ since: at(100) }, { idle: { since: at(0), consecutive: 1, lastCallAt: null } });
    const due = change({ maxQuietMs: 600_000 });
    assert.equal(step(transition(state, timePassed('quiet', 699), due).effects)?.type, 'wait');
    assert.equal(step(transition(state, timePassed('quiet', 700), due).effects)?.type, 'prompt');
  });

  test('keeps its fingerprint over a look that saw nothing', () => {
    const { state } = transition(waiting({ seen: 'abc' }), timePassed('quiet', 30, null), change());
    assert.equal(state.status === 'waiting' && state.waiting.seen, 'abc');
  });

  test('takes the first look as its fingerprint if it has none', () => {
    const { state } = transition(waiting(), timePassed('quiet', 30, 'abc'), change());
    assert.equal(state.status === 'waiting' && state.waiting.seen, 'abc');
  });
});

describe('a clock that was set back', () => {
  test('during a wait restarts the wait without lengthening it', () => {
    const { state, effects } = transition(waiting(), timePassed('elapsed', -3_600), idle());
    assert.deepEqual(effects, [{ type: 'wait', until: at(-3_570) }]);
    assert.equal(state.status === 'waiting' && state.waiting.since, at(-3_600));
    assert.equal(idleElapsed(state.idle, at(-3_600)), 0);
  });

  test('keeps the idle time from before the wait', () => {
    const before = waiting(
      { since: at(100), until: at(130) },
      {
        idle: { since: at(0), consecutive: 3, lastCallAt: at(90) },
        lastDecision: { at: at(100), kind: 'wait', detail: 'idle' },
      },
    );
    const { state } = transition(before, timePassed('elapsed', -1_000), idle());
    assert.deepEqual(state.idle, { since: at(-1_100), consecutive: 3, lastCallAt: at(-1_010) });
  });

  test('while the agent worked keeps the idle time from before', () => {
    const slept = after(running(), idle(), idleTurn(60), timePassed('elapsed', 90), idleTurn(-1_000));
    assert.equal(idleElapsed(slept.state.idle, at(-1_000)), 30_000);
  });

  test('by less than the elapsed wait lengthens the wait by only that much', () => {
    const { effects } = transition(waiting(), timePassed('elapsed', 1), idle());
    assert.deepEqual(effects, [{ type: 'wait', until: at(30) }]);
  });

  test('is noticed in a look as well, which then uses this clock', () => {
    const { effects } = transition(waiting(), timePassed('quiet', -60), idle({ wake: 'change' }));
    assert.deepEqual(effects, [{ type: 'wait', until: at(-30) }]);
  });

  test('changes nothing without a streak', () => {
    assert.deepEqual(clockSetBack(NOT_IDLE, at(10), at(0)), NOT_IDLE);
    const streak = { since: at(0), consecutive: 1, lastCallAt: at(0) };
    assert.equal(clockSetBack(streak, at(10), at(10)), streak);
  });

  test('is measured from the last run if no decision is known', () => {
    const before = running({
      lastDecision: null,
      lastRunAt: at(50),
      idle: { since: at(0), consecutive: 1, lastCallAt: at(0) },
    });
    const { state } = after(before, idle(), idleTurn(-1_000));
    assert.equal(state.idle.since, at(-1_050));
  });
});

describe('the streak', () => {
  test('begins with its first idle iteration and keeps that instant', () => {
    const first = anotherIdle(NOT_IDLE, at(5));
    assert.deepEqual(first, { since: at(5), consecutive: 1, lastCallAt: at(5) });
    assert.deepEqual(anotherIdle(first, at(50)), { since: at(5), consecutive: 2, lastCallAt: at(50) });
  });
  test('has no length before it begins', () => assert.equal(idleElapsed(NOT_IDLE, at(50)), 0));
});

test('an idle loop with nothing left of its maximum ends at once', () => {
  const before = running({ idle: { since: at(-3_600), consecutive: 9, lastCallAt: at(-10) } });
  const { state, effects } = after(before, idle(), idleTurn(0));
  assert.equal(state.status === 'ended' && state.ended.as, 'idle-limit');
  assert.equal(state.status === 'ended' && state.ended.message, 'Stopped after being idle for 1h (idle.max is 1h).');
  assert.equal(step(effects)?.type, 'allow');
});

test('an end after more idle time than the maximum says what it includes', () => {
  assert.equal(
    idleLimitText(13_000, 7_000),
    'Stopped after being idle for 13s, the last iteration included (idle.max is 7s).',
  );
  assert.equal(idleLimitText(7_000, 7_000), 'Stopped after being idle for 7s (idle.max is 7s).');
});
