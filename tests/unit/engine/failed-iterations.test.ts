import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Policy } from '../../../src/engine/schema/contract.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { transition } from '../../../src/engine/transition.ts';
import {
  after,
  at,
  effect,
  IDLE,
  IDLE_POLICY,
  policy,
  recorded,
  running,
  SIGNAL,
  saying,
  step,
  turnEnded,
} from './support/loop.ts';

const pace = (change: Partial<Policy['pace']>): Policy =>
  policy({ pace: { delayMs: 0, iterationTimeoutMs: 300_000, stopOnError: true, tracksProgress: false, ...change } });
const strict = pace({});
const lenient = pace({ stopOnError: false });
const timedOut = (text: string, change = {}) => turnEnded(text, { timedOut: true, ...change });
const ending = (state: LoopState) => (state.status === 'ended' ? [state.ended.as, state.ended.message] : state.status);
const warningsOf = (given: ReturnType<typeof after>) => effect(given.effects, 'prompt').notices.warnings;

describe('an iteration that ran out of time', () => {
  test('ends the loop that stops on errors, and is counted', () => {
    const { state, effects } = after(running({ iteration: 2 }), strict, timedOut('Half done.'));
    assert.deepEqual(ending(state), ['timeout', 'Stopped: iteration 3 timed out after 5m. Resume: ralph-loop resume.']);
    assert.equal(state.iteration, 3);
    assert.equal(effect(effects, 'record-iteration').record.decision, 'timeout');
    assert.deepEqual(recorded(effects), ['iteration.failed', 'loop.ended']);
    assert.equal(saying(effects, 'iteration.failed')['error'], 'timed out');
  });

  test('names no limit where the policy has none', () => {
    const { state } = after(running(), pace({ iterationTimeoutMs: null }), timedOut('Half done.'));
    assert.equal(ending(state)[1], 'Stopped: iteration 1 timed out. Resume: ralph-loop resume.');
  });

  test('is reported to the agent once in a loop that continues', () => {
    const first = after(running(), lenient, timedOut('Half done.'));
    assert.equal(first.state.iteration, 1);
    assert.deepEqual(warningsOf(first), [
      'Your last iteration timed out (timeout: 5m). Do less in one iteration and end your message earlier.',
    ]);
    assert.deepEqual(warningsOf(after(first.state, lenient, turnEnded('Done in time.'))), []);
  });

  test('keeps the other notices of the next prompt', () => {
    const notices = { rejection: [], misplacedSignal: null, warnings: ['before'] };
    assert.deepEqual(warningsOf(after(running({ notices }), lenient, timedOut('Half done.')))[0], 'before');
  });

  test('is not an error to the breaker', () => {
    const { state } = after(running(), lenient, timedOut('Half done.'));
    assert.equal(state.breaker.sameError.value, null);
  });

  test('is never idle', () => {
    const { state } = after(running(), { ...lenient, idle: IDLE_POLICY }, timedOut(IDLE));
    assert.deepEqual([state.status, state.iteration, state.idleIterations], ['running', 1, 0]);
  });

  test('yields to the user’s stop', () => {
    assert.equal(ending(after(running({ stopRequested: true }), strict, timedOut('Half.')).state)[0], 'stopped');
  });

  test('names the end before max iterations', () => {
    assert.equal(ending(after(running({ maxIterations: 1 }), strict, timedOut('Half.')).state)[0], 'timeout');
    assert.equal(ending(after(running({ maxIterations: 1 }), lenient, timedOut('Half.')).state)[0], 'max-iterations');
  });

  test('does not count in the turn that answered the user', () => {
    assert.equal(after(running({ turn: 'user' }), strict, timedOut('An answer.')).state.status, 'running');
  });
});

describe('an iteration that ran out of time and claimed completion', () => {
  const claimed = after(running(), strict, timedOut(SIGNAL));
  const FAILED = [{ name: 'tests', outcome: 'failed', detail: '2 fail' }] as const;

  test('is verified first', () => {
    assert.equal(step(claimed.effects)?.type, 'verify');
    assert.deepEqual(claimed.state.status === 'verifying' && claimed.state.verifying, {
      since: at(60),
      failure: {
        as: 'timeout',
        message: 'Stopped: iteration 1 timed out after 5m. Resume: ralph-loop resume.',
        text: 'Stopped: iteration 1 timed out after 5m.',
      },
    });
  });

  test('completes the loop if the claim holds', () => {
    const results = [{ name: 'tests', outcome: 'ok', detail: '' }] as const;
    assert.equal(
      ending(transition(claimed.state, { type: 'verified', at: at(70), results }, strict).state)[0],
      'complete',
    );
  });

  test('ends it as timed out if the claim fails, with the reasons recorded', () => {
    const { state, effects } = transition(claimed.state, { type: 'verified', at: at(70), results: FAILED }, strict);
    assert.deepEqual(ending(state)[0], 'timeout');
    assert.deepEqual(saying(effects, 'completion.rejected')['reasons'], ['tests: 2 fail']);
  });

  test('ends it as stopped if the user asked for that meanwhile', () => {
    const asked = { ...claimed.state, stopRequested: true };
    assert.equal(
      ending(transition(asked, { type: 'verified', at: at(70), results: FAILED }, strict).state)[0],
      'stopped',
    );
  });

  test('continues a loop that does not stop on errors', () => {
    const before = after(running(), lenient, timedOut(SIGNAL)).state;
    assert.deepEqual(before.status === 'verifying' && before.verifying, { since: at(60) });
    const next = transition(before, { type: 'verified', at: at(70), results: FAILED }, lenient);
    assert.match(warningsOf(next)[0] ?? '', /^Your last iteration timed out/);
  });
});

describe('an iteration with an error', () => {
  test('ends the loop that stops on errors', () => {
    const { state, effects } = after(running(), strict, turnEnded('Oh.', { error: 'EACCES' }));
    assert.deepEqual(ending(state), ['error', 'Stopped: iteration 1 failed: EACCES. Resume: ralph-loop resume.']);
    assert.equal(saying(effects, 'iteration.failed')['error'], 'EACCES');
  });

  test('continues other loops without a message to the agent', () => {
    const next = after(running(), lenient, turnEnded('Oh.', { error: 'EACCES' }));
    assert.deepEqual([next.state.status, warningsOf(next)], ['running', []]);
  });

  test('ends by its time limit if it also ran out of time', () => {
    const { state, effects } = after(running(), strict, timedOut('Oh.', { error: 'EACCES' }));
    assert.equal(ending(state)[0], 'timeout');
    assert.equal(saying(effects, 'iteration.failed')['error'], 'EACCES');
  });

  test('shortens the message of the end', () => {
    const { state } = after(running(), strict, turnEnded('Oh.', { error: 'x'.repeat(90_000) }));
    assert.ok((ending(state)[1] ?? '').length < 700);
  });
});

describe('shell commands that fail in one iteration', () => {
  const failing = (failedShellCalls: number, change = {}) => turnEnded('Tried.', { failedShellCalls, ...change });
  const ADVICE =
    '3 shell commands failed in your last iteration. Find the cause and change the approach instead of retrying.';

  test('ask for another approach in the next prompt from the third on', () => {
    assert.deepEqual(warningsOf(after(running(), policy(), failing(2))), []);
    assert.deepEqual(warningsOf(after(running(), policy(), failing(3))), [ADVICE]);
  });

  test('are reported once for each such iteration', () => {
    const first = after(running(), policy(), failing(3));
    assert.deepEqual(warningsOf(after(first.state, policy(), failing(0))), []);
    assert.deepEqual(warningsOf(after(first.state, policy(), failing(3))), [ADVICE]);
  });

  test('end no loop, not even one that stops on errors', () => {
    assert.equal(after(running(), strict, failing(9)).state.status, 'running');
  });

  test('are reported after a timeout', () => {
    assert.deepEqual(
      warningsOf(after(running(), lenient, failing(3, { timedOut: true }))).map((text) => text.slice(0, 8)),
      ['Your las', '3 shell '],
    );
  });
});
