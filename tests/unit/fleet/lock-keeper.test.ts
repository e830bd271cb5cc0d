import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { LockKeeper } from '../../../src/fleet/worker/holding.ts';
import { until } from '../../support/until.ts';

/** Lets time pass for a keeper, a renewal at a time: the machine's speed does not count. */
async function pass(t: TestContext, stepMs: number, steps: number): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    t.mock.timers.tick(stepMs);
    for (let turn = 0; turn < 5; turn += 1) await Promise.resolve();
  }
}

test('keeps a lock that is renewed', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  let renewals = 0;
  const keeper = new LockKeeper({
    durationMs: 40_000,
    renew: async () => {
      renewals += 1;
      return true;
    },
  });
  t.after(() => keeper.stop());
  await pass(t, 10_000, 10);
  assert.deepEqual([renewals, keeper.lost.aborted], [10, false]);
});

test('loses the lock at once when a renewal is refused', async (t) => {
  const keeper = new LockKeeper({ durationMs: 400, renew: async () => false });
  t.after(() => keeper.stop());
  await until('it is lost', () => keeper.lost.aborted);
  assert.ok(keeper.lost.aborted);
});

test('loses the lock before it expires if the server does not answer', async (t) => {
  const keeper = new LockKeeper({ durationMs: 1_500, renew: () => new Promise(() => undefined) });
  t.after(() => keeper.stop());
  await until('it is lost', () => keeper.lost.aborted);
  assert.ok(keeper.lost.aborted);
});

test('retries a failing renewal until one succeeds', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval', 'Date'] });
  let calls = 0;
  const keeper = new LockKeeper({
    durationMs: 40_000,
    renew: async () => {
      calls += 1;
      if (calls === 1) throw new Error('away');
      return true;
    },
  });
  t.after(() => keeper.stop());
  await pass(t, 10_000, 8);
  assert.deepEqual([calls, keeper.lost.aborted], [8, false]);
});

test('a stopped keeper reports no loss', async () => {
  let calls = 0;
  const keeper = new LockKeeper({
    durationMs: 400,
    renew: async () => {
      calls += 1;
      if (calls === 2) keeper.stop();
      return calls < 2;
    },
  });
  await until('it is asked twice', () => calls >= 2);
  assert.equal(keeper.lost.aborted, false);
});
