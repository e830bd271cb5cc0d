import assert from 'node:assert/strict';
import { test } from 'node:test';
import { steering } from '../../../src/engine/events.ts';
import { currentIteration, pausedText } from '../../../src/engine/messages.ts';
import { planName } from '../../../src/engine/plan/commit-subject.ts';
import { allowanceOf, smallerAllowance, spentOf } from '../../../src/engine/policy/budget.ts';
import { untilTimeUp } from '../../../src/engine/policy/loop-time.ts';
import { at, ended, paused, policy, running } from './support/loop.ts';

test('an allowance is what is left of each limit, never less than nothing, and no limit stays none', () => {
  const limits = { maxCostUsd: 2, maxTokens: 100, maxTimeMs: 60_000 };
  assert.deepEqual(allowanceOf({ costUsd: 0.5, tokens: 40 }, 20_000, limits), {
    costUsd: 1.5,
    tokens: 60,
    timeMs: 40_000,
  });
  assert.deepEqual(allowanceOf({ costUsd: null, tokens: 101 }, 60_001, limits), { costUsd: 2, tokens: 0, timeMs: 0 });
  const none = { maxCostUsd: null, maxTokens: null, maxTimeMs: null };
  assert.deepEqual(allowanceOf({ costUsd: 1, tokens: 1 }, 1, none), { costUsd: null, tokens: null, timeMs: null });
});

test('of two allowances the smaller part of each counts, and one without a limit does not', () => {
  const one = { costUsd: 1, tokens: 50, timeMs: null };
  assert.deepEqual(smallerAllowance(one, { costUsd: 2, tokens: 40, timeMs: 5 }), { costUsd: 1, tokens: 40, timeMs: 5 });
  assert.deepEqual(smallerAllowance(one, { costUsd: null, tokens: null, timeMs: null }), one);
  assert.deepEqual(smallerAllowance(one, undefined), one);
});

test('a loop that has used no token has cost nothing, and one of unknown cost has an unknown one', () => {
  const { usage } = running();
  assert.deepEqual(spentOf({ ...usage, costUsd: null }), { costUsd: 0, tokens: 0 });
  assert.deepEqual(spentOf({ ...usage, outputTokens: 5, costUsd: null }), { costUsd: null, tokens: 5 });
  assert.deepEqual(spentOf({ ...usage, inputTokens: 3, outputTokens: 5, costUsd: 0.25 }), { costUsd: 0.25, tokens: 8 });
});

test('a wait ends with max_time, if that comes first', () => {
  const { budget } = policy();
  const state = running({ startedAt: at(0) });
  const until = (maxTimeMs: number | null): string => untilTimeUp(state, { ...budget, maxTimeMs }, at(10), at(100));
  assert.deepEqual([until(null), until(50_000), until(200_000)], [at(100), at(50), at(100)]);
  assert.equal(until(5_000), at(10), 'it is up');
});

test('the iteration in progress is the next one, and after its end the last one', () => {
  const loop = { iteration: 3, maxIterations: 9 };
  assert.equal(currentIteration(running(loop)), 4);
  assert.equal(currentIteration(running({ iteration: 9, maxIterations: 9 })), 9);
  assert.equal(currentIteration(paused('operator', { ...loop, turn: 'rest' })), 3);
  assert.equal(currentIteration(paused('operator', { ...loop, turn: 'agent' })), 4);
  assert.equal(currentIteration(paused('rate-limited', { ...loop, turn: 'rest' })), 4);
  assert.equal(currentIteration(ended(loop)), 3);
});

test('a pause by the user says so, any other its reason', () => {
  assert.deepEqual([pausedText('operator'), pausedText('api-error')], ['paused by you', 'paused (api error)']);
});

test('a plan is named after its file', () => {
  assert.deepEqual(['docs/NEXT.md', 'a/b.Markdown', 'PLAN'].map(planName), ['NEXT', 'b', 'PLAN']);
});

test('a message to the agent has at most 20,000 characters', () => {
  const text = 'x'.repeat(20_000);
  assert.deepEqual(steering('s1', text, 'now'), { kind: 'steer', id: 's1', text, delivery: 'now' });
  assert.throws(() => steering('s1', `${text}x`, 'next'), /the text has 20001 characters; at most 20000/);
});
