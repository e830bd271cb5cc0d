import assert from 'node:assert/strict';
import { test } from 'node:test';
import { factsText } from '../../../src/term/facts-text.ts';

const facts = (entry: Record<string, unknown>): string => factsText(entry, () => true);

test('names times and costs of an event by their units, at any depth', () => {
  const limits = { maxIdleMs: 21_600_000, maxCostUsd: 5, maxTokens: null };
  assert.equal(facts({ limits, graceMs: 1_500 }), 'limits: max idle 6h, max cost $5.00, grace: 2s');
});

test('says that a pause or its end came from the user', () => {
  assert.equal(facts({ reason: 'operator' }), 'by you');
  assert.equal(facts({ why: 'operator' }), 'by you');
  assert.equal(facts({ reason: 'rate-limited' }), 'rate-limited');
});
