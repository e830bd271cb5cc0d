import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterAwake, lookAtClock, SLEPT_MS, watchSleep } from '../../../src/state/process/sleep-watch.ts';

/** Returns how many sleeps a watch notes whose process was last seen `sinceMs` ago, and has used `cpuMs` since. */
function sleepsNoted(cpuMs: number, sinceMs = 24 * SLEPT_MS): number {
  const real = { now: Date.now, cpuUsage: process.cpuUsage };
  let sleeps = 0;
  const end = watchSleep(() => sleeps++);
  try {
    Date.now = () => real.now() + sinceMs;
    const { user, system } = real.cpuUsage();
    process.cpuUsage = () => ({ user: user + cpuMs * 1_000, system });
    lookAtClock();
  } finally {
    Object.assign(Date, { now: real.now });
    process.cpuUsage = real.cpuUsage;
    end();
  }
  return sleeps;
}

test('A process that computed all the time has not slept.', () => {
  assert.equal(sleepsNoted(23 * SLEPT_MS), 0);
});

test('control: A process that used no processor has slept, or was stopped.', () => {
  assert.equal(sleepsNoted(100), 1);
});

test('A clock that was set back is noted like a sleep.', () => {
  assert.deepEqual([sleepsNoted(100, -24 * SLEPT_MS), sleepsNoted(100, -SLEPT_MS / 2)], [1, 0]);
});

test('a time limit of a command counts a busy machine, but not the time in which the process was stopped', (t) => {
  let nowMs = 0;
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] });
  t.mock.method(process, 'uptime', () => nowMs / 1_000);
  let ends = 0;
  /** All timers that are due fire once, when so many milliseconds have passed. */
  const pass = (ms: number): void => {
    nowMs += ms;
    t.mock.timers.tick(ms);
  };
  afterAwake(60_000, () => (ends += 1));
  pass(4_000);
  pass(3_600_000);
  assert.equal(ends, 0, 'it was stopped after four seconds');
  pass(3_599_000);
  assert.equal(ends, 0);
  const cancel = afterAwake(4_000, () => (ends += 1));
  pass(4_000);
  assert.equal(ends, 1, 'control: a machine that is busy for four seconds counts');
  cancel();
  afterAwake(4_000, () => (ends += 1))();
  pass(4_000);
  assert.equal(ends, 1, 'it was cancelled');
});
