import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { EngineEvent } from '../../../src/engine/events.ts';
import { initialState, resumeState } from '../../../src/engine/initial-state.ts';
import { timeSpent, timeStopped, untilTimeUp, withoutSleep } from '../../../src/engine/policy/loop-time.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { transition } from '../../../src/engine/transition.ts';
import { validateLoopState } from '../../../src/state/loop-files.ts';
import { at, effect, paused, policy, recorded, running, turnEnded, verifying, waiting } from './support/loop.ts';

const HOUR = 3_600;
const NIGHT = 8 * HOUR;
/** A loop that may take an hour. */
const ONE_HOUR = policy({
  budget: { maxCostUsd: null, maxTokens: null, maxTimeMs: HOUR * 1_000, warnAt: 0.8 },
});

const resume = (by: 'user' | 'launcher', seconds: number): EngineEvent => ({
  type: 'operator',
  at: at(seconds),
  command: { kind: 'resume', ...(by === 'launcher' && { by }) },
});

/** How the iteration ends that began after the night. */
function nextEnd(state: LoopState, seconds = NIGHT + 60): string {
  const next = transition({ ...state, turn: 'agent' } as LoopState, turnEnded('Work.', { at: at(seconds) }), ONE_HOUR);
  return next.state.status === 'ended' ? next.state.ended.as : next.state.status;
}

const pausedAt = (seconds: number, reason: 'operator' | 'rate-limited' | 'api-error' = 'operator'): LoopState => {
  const state = paused(reason);
  return state.status === 'paused' ? { ...state, paused: { ...state.paused, since: at(seconds) } } : state;
};

describe('the time in which a loop was stopped', () => {
  test('does not end a paused loop that is resumed after a night', () => {
    const { state } = transition(pausedAt(60), resume('user', NIGHT), ONE_HOUR);
    assert.equal(timeSpent(state, at(NIGHT + 30)), 90_000);
    assert.equal(nextEnd(state), 'running');
    const { stoppedMs: _, ...forgetful } = state;
    assert.equal(nextEnd(forgetful as LoopState), 'budget-exhausted', 'control: with the night in it');
  });

  test('does not end an ended or killed loop that is resumed after a night', () => {
    const ended = transition(running(), { type: 'agent-failed', at: at(60), message: 'No.' }, ONE_HOUR).state;
    for (const [before, seen] of [
      [ended, at(NIGHT)],
      [running(), at(60)],
      [waiting(), at(60)],
      [verifying(), at(60)],
      [pausedAt(60), at(NIGHT)],
    ] as const) {
      const state = resumeState(before, at(NIGHT), true, seen);
      assert.equal(timeSpent(state, at(NIGHT + 30)), 90_000, before.status);
      assert.equal(nextEnd(state), 'running', before.status);
    }
    const state = resumeState(running(), at(NIGHT), true, at(NIGHT));
    assert.equal(nextEnd(state), 'budget-exhausted', 'control: a driver that lived through the night');
  });

  test('adds up over several nights, and stays readable', () => {
    const once = resumeState(running(), at(NIGHT), true, at(60));
    const twice = resumeState(once, at(2 * NIGHT), true, at(NIGHT + 60));
    assert.equal(timeSpent(twice, at(2 * NIGHT)), 120_000);
    assert.equal(timeStopped(twice, at(2 * NIGHT)), (2 * NIGHT - 120) * 1_000);
    assert.equal(validateLoopState(twice), null);
  });

  test('includes the wait for consent, of a new loop and of a resumed one', () => {
    const consent = { type: 'operator', at: at(NIGHT), command: { kind: 'consent', contractHash: 'h' } } as const;
    const known = { loopId: 'a', name: null, mode: 'hook', taskPath: 'a.md', contractHash: null } as const;
    const asked = initialState({ ...known, maxIterations: 5, at: at(0), consented: false });
    assert.equal(timeSpent(asked, at(NIGHT)), 0);
    assert.equal(timeSpent(transition(asked, consent, ONE_HOUR).state, at(NIGHT + 5)), 5_000);
    const again = resumeState(running(), at(HOUR), false, at(60));
    assert.equal(timeSpent(transition(again, consent, ONE_HOUR).state, at(NIGHT + 5)), 65_000);
  });

  test('stands still in a pause, and at the end', () => {
    assert.equal(timeSpent(pausedAt(60), at(NIGHT)), 60_000);
    assert.equal(timeStopped(pausedAt(60), at(100)), 40_000);
    const cancelled = { type: 'operator', at: at(NIGHT), command: { kind: 'cancel' } } as const;
    const { state } = transition(pausedAt(60), cancelled, ONE_HOUR);
    assert.deepEqual(
      [timeSpent(state, at(2 * NIGHT)), timeStopped(state, at(2 * NIGHT))],
      [60_000, (NIGHT - 60) * 1_000],
    );
  });

  test('has no rate limit and no server error in it for which the driver or the client waited', () => {
    for (const reason of ['rate-limited', 'api-error'] as const) {
      const own = transition(pausedAt(60, reason), resume('launcher', NIGHT), ONE_HOUR).state;
      assert.equal(timeSpent(own, at(NIGHT)), NIGHT * 1_000);
      const users = transition(pausedAt(60, reason), resume('user', NIGHT), ONE_HOUR).state;
      assert.equal(timeSpent(users, at(NIGHT)), 60_000);
    }
    const prompt = { type: 'user-prompt', at: at(NIGHT), promptId: 'p', by: 'continuation' } as const;
    const clients = transition(pausedAt(60, 'rate-limited'), prompt, ONE_HOUR).state;
    assert.deepEqual([clients.status, timeSpent(clients, at(NIGHT))], ['running', NIGHT * 1_000], 'the client itself');
    const other = transition(pausedAt(60, 'api-error'), prompt, ONE_HOUR).state;
    assert.deepEqual([other.status, timeSpent(other, at(NIGHT))], ['paused', 60_000], 'control: a pause that goes on');
    const slept = withoutSleep({ ...pausedAt(60, 'rate-limited'), asleepMs: 0 }, 600_000, at(NIGHT), false);
    const woken = transition(slept, prompt, ONE_HOUR).state;
    assert.equal(timeSpent(woken, at(NIGHT)), (NIGHT - 600) * 1_000, 'but not a sleep of the machine in it');
    const key = transition(pausedAt(60), resume('launcher', NIGHT), ONE_HOUR).state;
    assert.equal(timeSpent(key, at(NIGHT)), 60_000, 'a pause that the user made at the launcher');
  });

  test('has the sleep of the machine in it, once', () => {
    const slept = { type: 'slept', since: at(60), at: at(NIGHT) } as const;
    const { state, effects } = transition(waiting(), slept, ONE_HOUR);
    assert.equal(timeSpent(state, at(NIGHT)), 60_000);
    const [recorded] = effects;
    assert.equal(recorded?.type === 'record-event' && recorded.event.type, 'slept');
    const paused = pausedAt(60);
    const after = transition(transition(paused, slept, ONE_HOUR).state, resume('user', NIGHT), ONE_HOUR).state;
    assert.equal(timeSpent(after, at(NIGHT)), 60_000, 'a pause in which the machine slept');
  });

  test('has in it the sleep of a machine whose driver waits for a rate limit or a server', () => {
    const slept = (until: number) => ({ type: 'slept', since: at(HOUR / 2), at: at(until) }) as const;
    for (const reason of ['rate-limited', 'api-error'] as const) {
      const noticed = transition(pausedAt(60, reason), slept(NIGHT), ONE_HOUR);
      assert.equal(recorded(noticed.effects)[0], 'slept');
      const { state } = transition(noticed.state, slept(NIGHT + 60), ONE_HOUR);
      assert.equal(validateLoopState(state), null);
      assert.equal(timeSpent(state, at(NIGHT + 60)), 60_000);
      const { budget } = ONE_HOUR;
      assert.equal(untilTimeUp(state, budget, at(NIGHT + 60), at(2 * NIGHT)), at(NIGHT + 60 + HOUR / 2));
      const own = transition(state, resume('launcher', NIGHT + 90), ONE_HOUR).state;
      assert.equal(timeSpent(own, at(NIGHT + 90)), (HOUR / 2 + 30) * 1_000);
      const users = transition(state, resume('user', NIGHT + 90), ONE_HOUR).state;
      assert.equal(timeSpent(users, at(NIGHT + 90)), 60_000);
    }
  });

  test('is left out of the turn that ends in a pause of the user', () => {
    const { state } = transition(pausedAt(60), turnEnded('Work.', { at: at(NIGHT) }), ONE_HOUR);
    assert.equal(state.status, 'paused');
    assert.equal(timeSpent(state, at(NIGHT)), 60_000);
    const { state: late } = transition(pausedAt(HOUR), turnEnded('Work.', { at: at(NIGHT) }), ONE_HOUR);
    assert.equal(late.status === 'ended' && late.ended.as, 'budget-exhausted', 'control: a pause at the limit');
  });

  test('has a sleep in it once that several processes notice, and none of what the clock went back', () => {
    const asleep = (state: LoopState, since: number, until: number): LoopState =>
      transition(state, { type: 'slept', since: at(since), at: at(until) }, ONE_HOUR).state;
    const first = asleep(running(), 60, NIGHT);
    const second = transition(first, { type: 'slept', since: at(59.8), at: at(NIGHT + 0.3) }, ONE_HOUR);
    assert.equal(timeSpent(second.state, at(NIGHT + 0.3)), 60_000);
    assert.deepEqual(second.effects, [], 'and says so once');
    assert.equal(timeSpent(asleep(second.state, NIGHT + 60, 2 * NIGHT), at(2 * NIGHT)), 119_700);
    const { stoppedUntil: _, ...forgetful } = first;
    const twice = asleep(forgetful as LoopState, 59.8, NIGHT + 0.3);
    assert.equal(timeSpent(twice, at(NIGHT + 0.3)), 0, 'control: without the end of the first');
    const back = asleep(asleep(running(), NIGHT, NIGHT + HOUR), 60, HOUR);
    assert.equal(back.stoppedMs, (HOUR + HOUR - 60) * 1_000);
  });

  test('is not lost by a kill between the counters and the state of a resume', () => {
    const resumed = transition(pausedAt(60), resume('user', NIGHT), ONE_HOUR).state;
    const { stoppedMs = 0, stoppedUntil = '' } = resumed;
    const restored: LoopState = { ...pausedAt(60), stoppedMs, stoppedUntil };
    assert.equal(timeSpent(restored, at(NIGHT + 10)), 60_000);
    assert.equal(timeStopped(restored, at(NIGHT + 10)), (NIGHT - 50) * 1_000);
    const { state } = transition(restored, resume('user', NIGHT + 10), ONE_HOUR);
    assert.equal(timeSpent(state, at(NIGHT + 30)), 80_000);
  });

  test('leaves out a sleep of the machine that no process of the loop has seen', () => {
    const NIGHT_MS = NIGHT * 1_000;
    const before: LoopState = { ...running(), asleepMs: 5_000 };
    const state = withoutSleep(before, NIGHT_MS + 5_000, at(NIGHT + 60), false);
    assert.equal(timeSpent(state, at(NIGHT + 60)), 60_000);
    assert.equal(nextEnd(state), 'running');
    assert.equal(withoutSleep(state, NIGHT_MS + 5_000, at(NIGHT + 70), false), state, 'it is added once');
    assert.equal(nextEnd(before), 'budget-exhausted', 'control: with the night in it');
    const noted = withoutSleep(before, NIGHT_MS + 5_000, at(NIGHT + 60), true);
    assert.deepEqual([noted.stoppedMs, noted.asleepMs], [undefined, NIGHT_MS + 5_000], 'another watch has added it');
  });

  test('is no time of the iteration in which the machine slept, nor of the next one', () => {
    const noted = transition(running(), { type: 'slept', since: at(60), at: at(NIGHT) }, ONE_HOUR).state;
    const first = transition(noted, turnEnded('Work.', { at: at(NIGHT + 40) }), ONE_HOUR);
    assert.equal(effect(first.effects, 'record-iteration').record.durationMs, 100_000);
    const next = transition(first.state, turnEnded('More.', { at: at(NIGHT + 70) }), ONE_HOUR);
    assert.equal(effect(next.effects, 'record-iteration').record.durationMs, 30_000, 'control: it has all its time');
    const resumed = resumeState(next.state, at(2 * NIGHT), true);
    const third = transition(resumed, turnEnded('On.', { at: at(2 * NIGHT + 20) }), ONE_HOUR);
    assert.equal(effect(third.effects, 'record-iteration').record.durationMs, 20_000, 'control: after a resume, too');
    assert.equal(validateLoopState(third.state), null, 'it can be written');
  });

  test('has no sleep of a pause twice, and none from before the start or a restart of the machine', () => {
    const asleep = { ...pausedAt(60), asleepMs: 0 };
    const marked = withoutSleep(asleep, NIGHT * 1_000, at(NIGHT + 10), false);
    const { state } = transition(marked, resume('user', NIGHT + 10), ONE_HOUR);
    assert.equal(timeSpent(withoutSleep(state, NIGHT * 1_000, at(NIGHT + 40), false), at(NIGHT + 40)), 90_000);
    const young = withoutSleep({ ...running(), asleepMs: 0 }, NIGHT * 1_000, at(30), false);
    assert.equal(timeSpent(young, at(40)), 10_000, 'no more than there was');
    const restarted = withoutSleep({ ...running(), asleepMs: 9_000_000 }, 20_000, at(60), false);
    assert.deepEqual([timeSpent(restarted, at(60)), restarted.asleepMs], [40_000, 20_000]);
    const older = running();
    assert.equal(withoutSleep(older, NIGHT * 1_000, at(60), false), older, 'unknown in a state of a former version');
  });

  test('grows by what a clock was set back, so that max_time still ends the loop', () => {
    const begun = transition(running(), turnEnded('Work.', { at: at(1_800) }), ONE_HOUR).state;
    const behind = transition(begun, turnEnded('More.', { at: at(-NIGHT) }), ONE_HOUR).state;
    assert.deepEqual([behind.status, timeSpent(behind, at(-NIGHT + 60))], ['running', 1_860_000]);
    assert.equal(nextEnd(behind, -NIGHT + 1_900), 'budget-exhausted');
    assert.equal(validateLoopState(behind), null, 'it can be written');
  });

  test('is never negative after the clock was set back', () => {
    const state = resumeState(running(), at(0), true, at(60));
    assert.equal(timeSpent(state, at(-30)), 0);
    assert.equal(state.stoppedMs, undefined);
  });
});
