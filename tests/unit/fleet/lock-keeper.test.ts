import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LockKeeper } from '../../../src/fleet/worker/lock-keeper.ts';
import { until } from '../../support/until.ts';

test('a lock that is renewed is kept', async (t) => {
  let renewals = 0;
  const keeper = new LockKeeper({
    durationMs: 400,
    renew: async () => {
      renewals += 1;
      return true;
    },
  });
  t.after(() => keeper.stop());
  await until('ten renewals', () => renewals >= 10);
  assert.equal(keeper.lost.aborted, false);
});

test('a refused renewal loses the lock at once', async (t) => {
  const keeper = new LockKeeper({ durationMs: 400, renew: async () => false });
  t.after(() => keeper.stop());
  await until('it is lost', () => keeper.lost.aborted);
  assert.ok(keeper.lost.aborted);
});

test('a server that does not answer loses the lock before its time is over', async (t) => {
  const keeper = new LockKeeper({ durationMs: 1_500, renew: () => new Promise(() => undefined) });
  t.after(() => keeper.stop());
  await until('it is lost', () => keeper.lost.aborted);
  assert.ok(keeper.lost.aborted);
});

test('a failing renewal is tried again until one succeeds', async (t) => {
  let calls = 0;
  const keeper = new LockKeeper({
    durationMs: 2_000,
    renew: async () => {
      calls += 1;
      if (calls === 1) throw new Error('away');
      return true;
    },
  });
  t.after(() => keeper.stop());
  await until('it is asked again', () => calls >= 3);
  assert.equal(keeper.lost.aborted, false);
});

test('a keeper that was stopped loses nothing any more', async () => {
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
