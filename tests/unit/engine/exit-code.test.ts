import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exitCode } from '../../../src/engine/exit-code.ts';
import type { TerminalStatus } from '../../../src/engine/schema/state.ts';

const CODES: Record<TerminalStatus | 'paused', number> = {
  complete: 0,
  stopped: 3,
  error: 1,
  timeout: 1,
  'max-iterations': 2,
  'no-progress-exhaustion': 2,
  'idle-limit': 2,
  'circuit-open': 2,
  'budget-exhausted': 2,
  'rate-limited': 2,
  blocked: 3,
  'needs-verification': 3,
  paused: 3,
  'paused-for-review': 3,
  interrupted: 130,
  cancelled: 130,
};

for (const [status, code] of Object.entries(CODES)) {
  test(`a loop that is ${status} exits with ${code}`, () => assert.equal(exitCode(status as keyof typeof CODES), code));
}

test('a completion without the verification that its caller requires exits with 3', () => {
  assert.deepEqual(
    [exitCode('complete', true), exitCode('complete', false), exitCode('max-iterations', true)],
    [3, 0, 2],
  );
});
