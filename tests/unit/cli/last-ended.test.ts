import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endedLoopOf } from '../../../src/drive/status/loop-report.ts';
import { initialState } from '../../../src/engine/initial-state.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';

const at = '2026-02-28T10:00:00Z';

test('shows the message of an ended loop as it was stored', () => {
  const terms = { loopId: 'loop-1', taskPath: 'PROMPT.md', contractHash: 'h', maxIterations: 5, at, consented: true };
  const state = initialState({ ...terms, name: 'site', mode: 'runner' });
  for (const message of [
    'the breaker opened. Go on with: ralph-loop run --loop site --resume.',
    'quoted: $& main.cjs',
  ]) {
    const over: LoopState = { ...state, status: 'ended', ended: { at, as: 'circuit-open', message, verified: false } };
    assert.equal(endedLoopOf(over, '/archive/x.json').message, message);
  }
});
