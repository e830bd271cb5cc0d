import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lookAtClock, SLEPT_MS, watchSleep } from '../../../src/state/process/sleep-watch.ts';

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
