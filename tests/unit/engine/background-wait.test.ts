import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backgroundText } from '../../../src/engine/messages.ts';
import { backgroundLimit } from '../../../src/engine/policy/background.ts';
import { policy, SIGNAL } from './support/loop.ts';

const WAITS: readonly (readonly [string, number, string, boolean, number])[] = [
  ['a claim with only shells left waits a minute', 1_800_000, SIGNAL, true, 60_000],
  ['a claim with a subagent at work waits as long as other turns', 1_800_000, SIGNAL, false, 1_800_000],
  ['a turn without a claim waits as long as ever', 1_800_000, 'The build runs.', true, 1_800_000],
  ['a claim waits as long as the user has set', 240_000, SIGNAL, true, 240_000],
  ['a claim waits no longer than the user has set', 4_000, SIGNAL, true, 4_000],
];

for (const [name, mostMs, message, onlyShells, waitMs] of WAITS) {
  test(name, () => {
    const limit = backgroundLimit(policy({ backgroundWaitMs: mostMs }), message, onlyShells, 60_000);
    assert.deepEqual(limit, { waitMs, mostMs });
  });
}

test('what is awaited is named once, in one line, with the longest wait', () => {
  assert.equal(
    backgroundText(['sleep 3177', 'sleep 3177', null, 'a\nb'], 60_000, false),
    'Waiting for background work of the agent, at most 1m: sleep 3177, a subagent or other task, a b',
  );
  assert.equal(
    backgroundText(['npm run dev'], 4_000, true),
    'Waiting for background work of the agent, at most 4s, or longer while it changes the project: npm run dev',
  );
});
