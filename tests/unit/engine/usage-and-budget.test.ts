import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  addRunUsage,
  addUsage,
  isCostUnknown,
  reachedWindow,
  readBudget,
  totalCost,
} from '../../../src/engine/policy/budget.ts';
import type { UsageState } from '../../../src/engine/schema/state.ts';
import { validateLoopState } from '../../../src/state/loop-files.ts';
import { at, policy, running } from './support/loop.ts';

const NOTHING: UsageState = running().usage;
const TURN = { inputTokens: 10, outputTokens: 20, cacheReadTokens: 300, cacheWriteTokens: 4 };
const { budget: NONE } = policy();
const cost = (...figures: (number | null)[]) =>
  figures.reduce((usage, figure) => addUsage(usage, null, figure), NOTHING);

describe('usage', () => {
  test('adds up the tokens of the turns', () => {
    const { costUsd: _cost, costBaseUsd: _base, ...tokens } = addUsage(addUsage(NOTHING, TURN, null), TURN, null);
    assert.deepEqual(tokens, { inputTokens: 20, outputTokens: 40, cacheReadTokens: 600, cacheWriteTokens: 8 });
  });
  test('is unchanged if the tokens of a turn are unknown', () =>
    assert.deepEqual(addUsage(NOTHING, null, null), NOTHING));
  test('has an unknown cost until the client names one', () => assert.equal(cost(null, null).costUsd, null));
  test('takes the client’s cumulative figure without adding it up', () => assert.equal(cost(0.5, 0.75).costUsd, 0.75));
  test('keeps the cost when a turn has no figure', () => assert.equal(cost(0.5, null).costUsd, 0.5));
  test('takes only what exceeds a known base', () => {
    assert.equal(addUsage({ ...NOTHING, costBaseUsd: 2 }, null, 2.5).costUsd, 0.5);
  });
  test('adds the figure of a new session to the cost of earlier ones', () => {
    const { costUsd } = cost(1, 0.25, 0.5);
    assert.equal(costUsd, 1.5);
  });
  test('adds the figure of a third session as well', () => assert.equal(cost(1, 0.25, 0.125).costUsd, 1.375));
  test('adds the whole figure after the base was forgotten, even a higher one', () => {
    const usage = addUsage({ ...cost(1), costBaseUsd: null }, null, 1.5);
    assert.equal(usage.costUsd, 2.5);
  });
  test('ignores a repeated figure, whatever its rounding', () => {
    const first = cost(0.1, 0.05); // 0.15000000000000002 in all
    assert.ok(Math.abs((addUsage(first, null, 0.05).costUsd ?? 0) - 0.15) < 1e-9);
    assert.equal(addUsage(first, null, 0.05).costUsd, first.costUsd);
    assert.equal(addUsage(cost(0.3), null, 0.3).costUsd, 0.3);
  });
  test('leaves a state that can be read back after a second session cost something', () => {
    assert.equal(validateLoopState({ ...running(), usage: cost(1, 0.25) }), null);
  });
  test('starts from a figure of zero without a negative zero', () => {
    assert.deepEqual(Object.is(cost(0).costBaseUsd, 0), true);
  });
});

describe('the budget', () => {
  const usage: UsageState = { ...NOTHING, ...TURN, costUsd: 1.25 };
  const read = (budget: Partial<typeof NONE>, used = usage) => readBudget(used, 90_000, { ...NONE, ...budget });

  test('reads nothing if no ceiling is set', () => assert.deepEqual(read({}), []));
  test('reads the cost in dollars', () => {
    assert.deepEqual(read({ maxCostUsd: 2.5 }), [
      { name: 'max_cost', used: 1.25, limit: 2.5, text: '$1.25 of $2.50', more: '2.5' },
    ]);
  });
  test('reads a cost below a cent at full precision', () => {
    const [reading] = read({ maxCostUsd: 0.005 }, { ...usage, costUsd: 0.0008 });
    assert.equal(reading?.text, '$0.0008 of $0.0050');
  });
  test('leaves out an unknown cost: unknown is not zero', () => {
    assert.deepEqual(read({ maxCostUsd: 2.5 }, { ...usage, costUsd: null }), []);
  });
  test('counts input, output and cache writes as tokens, but no cache reads', () => {
    assert.deepEqual(read({ maxTokens: 100 }), [
      { name: 'max_tokens', used: 34, limit: 100, text: '34 of 100 tokens', more: '100' },
    ]);
  });
  test('reads the time that the loop has spent', () => {
    assert.deepEqual(read({ maxTimeMs: 120_000 }), [
      { name: 'max_time', used: 90_000, limit: 120_000, text: '1m 30s of 2m', more: '2m' },
    ]);
  });
  test('names as the next limit one that is not used up, as its option takes it', () => {
    const more = (budget: Partial<typeof NONE>) => read(budget).map((reading) => reading.more);
    assert.deepEqual(more({ maxCostUsd: 1.25, maxTokens: 10, maxTimeMs: 75_000 }), ['2.5', '40', '2m30s']);
  });
  test('reads cost, tokens and time in this order', () => {
    const names = read({ maxCostUsd: 1, maxTokens: 1, maxTimeMs: 1 }).map(({ name }) => name);
    assert.deepEqual(names, ['max_cost', 'max_tokens', 'max_time']);
  });
});

describe('the usage of a run', () => {
  const run = (before: UsageState, costUsd: number | null, unpriced: -1 | 0 | 1) =>
    addRunUsage(before, { usage: TURN, costUsd, unpriced });

  test('adds its tokens, and leaves the cost unknown until the client reports it', () => {
    assert.deepEqual(run(NOTHING, null, 1), { ...NOTHING, ...TURN, unpricedRuns: 1 });
  });
  test('adds its cost to what earlier runs cost', () => {
    assert.equal(run({ ...NOTHING, costUsd: 0.5 }, 0.25, 0).costUsd, 0.75);
    assert.equal(run(NOTHING, 0.25, 0).costUsd, 0.25);
  });
  test('keeps the cost of earlier runs while its own is unknown', () => {
    assert.equal(run({ ...NOTHING, costUsd: 0.5 }, null, 1).costUsd, 0.5);
  });
  test('counts runs without a cost up and down, and has none left when all are known', () => {
    const two = run(run(NOTHING, null, 1), null, 1);
    assert.equal(two.unpricedRuns, 2);
    const one = run(two, 0.1, -1);
    assert.equal(one.unpricedRuns, 1);
    assert.equal('unpricedRuns' in run(one, 0.1, -1), false);
  });
  test('has a total only if the cost of every run is known', () => {
    assert.equal(totalCost({ ...NOTHING, costUsd: 2 }), 2);
    assert.equal(totalCost({ ...NOTHING, costUsd: 2, unpricedRuns: 0 }), 2);
    assert.equal(totalCost({ ...NOTHING, costUsd: 2, unpricedRuns: 1 }), null);
    assert.equal(totalCost(NOTHING), null);
  });
  test('is unknown to a cost limit until the user accepts it', () => {
    const limited = { ...NONE, maxCostUsd: 1 };
    assert.equal(isCostUnknown({ ...NOTHING, unpricedRuns: 1 }, limited), true);
    assert.equal(isCostUnknown({ ...NOTHING, unpricedRuns: 1, unpricedAccepted: 1 }, limited), false);
    assert.equal(isCostUnknown({ ...NOTHING, unpricedRuns: 2, unpricedAccepted: 1 }, limited), true);
    assert.equal(isCostUnknown(NOTHING, limited), false);
    assert.equal(isCostUnknown({ ...NOTHING, unpricedRuns: 1 }, NONE), false);
  });
});

describe('the limits of an account', () => {
  const window = (used: number, resetsAt: string | null = null) => ({ name: 'five_hour' as const, used, resetsAt });
  const reached = (
    limits: Parameters<typeof reachedWindow>[0],
    stopAt: typeof NONE.stopAt = { five_hour: 0.8, seven_day: null },
  ) => reachedWindow(limits, { ...NONE, stopAt }, at(10));

  test('are reached at their share, and not below it', () => {
    assert.deepEqual(reached([window(0.8)]), window(0.8));
    assert.deepEqual(reached([window(0.9)]), window(0.9));
    assert.equal(reached([window(0.79)]), null);
  });
  test('are free again after their reset', () => {
    assert.equal(reached([window(0.9, at(10))]), null);
    assert.equal(reached([window(0.9, at(9))]), null);
    assert.deepEqual(reached([window(0.9, at(11))]), window(0.9, at(11)));
    assert.equal(reached([window(0.1, at(11))]), null);
  });
  test('do not apply without a share, without a report, or for another window', () => {
    assert.equal(reachedWindow([window(0.9)], NONE, at(10)), null);
    assert.equal(reached([window(0.9)], { five_hour: null, seven_day: 0.1 }), null);
    assert.equal(reached(undefined), null);
  });
  test('are reported by the first that is reached', () => {
    const second = { name: 'seven_day' as const, used: 0.9, resetsAt: null };
    assert.deepEqual(reached([window(0.1), second], { five_hour: 0.8, seven_day: 0.5 }), second);
  });
});
