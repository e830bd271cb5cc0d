import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endedLoopOf } from '../../../src/drive/status/loop-report.ts';
import { initialState } from '../../../src/engine/initial-state.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';

const at = '2026-02-28T10:00:00Z';

/** What the engine says of an end, in the words of a session. */
const ended = (mode: LoopState['mode'], name: string | null): string => {
  const terms = { loopId: 'loop-1', taskPath: 'PROMPT.md', contractHash: 'h', maxIterations: 5, at, consented: true };
  const state = initialState({ ...terms, name, mode });
  const message = 'the breaker opened. Go on with: main.cjs start --resume.';
  const over: LoopState = { ...state, status: 'ended', ended: { at, as: 'circuit-open', message, verified: false } };
  return endedLoopOf(over, '/archive/x.json').message;
};

test('what goes on with a loop that has ended is advised as it was driven, and by its name', () => {
  assert.match(ended('hook', null), /: main\.cjs start --resume\.$/);
  assert.match(ended('runner', null), /: main\.cjs run --resume\.$/);
  assert.match(ended('router', null), /: main\.cjs router start --resume\.$/);
  assert.match(ended('runner', 'site'), /: main\.cjs run --loop site --resume\.$/);
});
