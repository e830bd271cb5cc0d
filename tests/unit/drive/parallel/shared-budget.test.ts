import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedBudget } from '../../../../src/drive/parallel/side-by-side-runner.ts';
import type { Batch } from '../../../../src/engine/schema/batch.ts';

const DOLLARS = { maxCostUsd: 3, maxTokens: null, maxTimeMs: null };
const budgetOf = (limits: Batch['limits'], stoppedMs = 0) =>
  new SharedBudget({ limits, startedAt: new Date(0).toISOString(), stoppedMs, tasks: [] });

test('the loops of a shared budget are stopped once together they have used it', () => {
  const budget = budgetOf(DOLLARS);
  budget.note('a', { costUsd: 1.5, tokens: 10 });
  assert.equal(budget.permit(1).kind, 'go');
  budget.note('b', { costUsd: 1.5, tokens: 10 });
  assert.deepEqual(budget.permit(1), { kind: 'budget', reading: '$3.00 of $3.00', more: { 'max-cost': '6' } });
});

test('a loop that ended before its first run has cost nothing, and one whose cost is unknown stops all', () => {
  const budget = budgetOf(DOLLARS);
  budget.note('a', { costUsd: null, tokens: 0 });
  assert.equal(budget.permit(1).kind, 'go');
  assert.equal(budget.spent.costUsd, 0);
  budget.note('b', { costUsd: null, tokens: 10 });
  assert.equal(budget.permit(1).kind, 'budget', 'control: an agent run without a price');
  assert.equal(budgetOf({ ...DOLLARS, maxCostUsd: null }).permit(1).kind, 'go');
});

test('a rate limit holds the loops until the latest reset that was told', () => {
  const budget = budgetOf({ ...DOLLARS, maxTimeMs: 60_000 });
  budget.hold(5_000);
  budget.hold(4_000);
  assert.deepEqual(budget.permit(4_500), { kind: 'hold', until: new Date(5_000).toISOString() });
  assert.equal(budget.permit(5_000).kind, 'go');
  assert.equal(budget.permit(60_000).kind, 'budget', 'a budget goes before a hold');
});

test('a permit names what all loops together have left', () => {
  const budget = budgetOf({ maxCostUsd: 3, maxTokens: 100, maxTimeMs: 60_000 });
  budget.note('a', { costUsd: 1, tokens: 30 });
  budget.note('b', { costUsd: 0.5, tokens: 20 });
  const allowance = { costUsd: 1.5, tokens: 50, timeMs: 50_000 };
  assert.deepEqual(budget.permit(10_000), { kind: 'go', allowance });
  const without = { costUsd: null, tokens: null, timeMs: null };
  const none = { maxCostUsd: null, maxTokens: null, maxTimeMs: null };
  assert.deepEqual(budgetOf(none).permit(1), { kind: 'go', allowance: without }, 'control: no limit');
});

test('the time in which a run was not driven is no part of its time limit', () => {
  const night = 8 * 3_600_000;
  const limits = { maxCostUsd: null, maxTokens: null, maxTimeMs: 60_000 };
  const permit = budgetOf(limits, night).permit(night + 10_000);
  assert.deepEqual(permit, { kind: 'go', allowance: { costUsd: null, tokens: null, timeMs: 50_000 } });
  assert.equal(budgetOf(limits).permit(night + 10_000).kind, 'budget', 'control: with the night in it');
});
