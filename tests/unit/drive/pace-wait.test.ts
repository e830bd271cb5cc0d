import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { parseHookInput } from '../../../src/claude/hook-input.ts';
import { instantOf } from '../../../src/core/clock.ts';
import type { Effect } from '../../../src/core/effects.ts';
import { initialState } from '../../../src/core/initial-state.ts';
import type { LoopState, StateOf } from '../../../src/core/schema/state.ts';
import { carryOn } from '../../../src/drive/hook/carry-on.ts';
import { driverContext } from '../../../src/drive/turn/context.ts';
import { turnWork } from '../../../src/drive/turn/run-turn-work.ts';
import { DEFAULT_POLICY, IDLE } from '../../../src/task/policy-defaults.ts';

/** A hook in the middle of a wait; the task file is written just after the wait began. Gives how long it waited. */
async function waited(t: TestContext, why: Partial<StateOf<'waiting'>['waiting']>): Promise<number> {
  const project = mkdtempSync(join(tmpdir(), 'ralph-pace-'));
  t.after(() => rmSync(project, { recursive: true, force: true }));
  const input = parseHookInput(
    JSON.stringify({ hook_event_name: 'Stop', session_id: 's', last_assistant_message: 'x' }),
  );
  assert.ok(input !== null);
  const env = { CLAUDE_PROJECT_DIR: project, XDG_STATE_HOME: join(project, 'outside') };
  const context = driverContext(input, env);
  const began = Date.now() - 50;
  const at = instantOf(began);
  const until = instantOf(began + 1_500);
  const { status: _status, ...loop } = initialState({
    ...{ loopId: 'l', name: null, mode: 'hook', taskPath: 'tasks/a/RALPH.md', contractHash: null },
    ...{ maxIterations: 25, at, consented: true },
  });
  const state: LoopState = {
    ...loop,
    sessionId: 's',
    status: 'waiting',
    waiting: { since: at, until, delayMs: 1_500, last: false, woken: false, seen: null, ...why },
  };
  for (const [path, text] of [
    [context.files.state, JSON.stringify(state)],
    [join(project, state.taskPath), 'Do it.\n'],
  ] as const) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  const policy = { ...DEFAULT_POLICY, idle: IDLE, pace: { ...DEFAULT_POLICY.pace, delayMs: 1_500 } };
  const effects: Effect[] = [{ type: 'wait', until }];
  const answer = await carryOn(
    {
      context,
      options: { timeoutMs: 60_000, signal: new AbortController().signal, work: turnWork },
      deadline: Date.now() + 60_000,
      notes: [],
      loaded: { kind: 'loop', state, policy, stored: null, mended: null, orphaned: false },
    },
    effects,
  );
  assert.equal(answer?.decision, 'block');
  return Date.now() - began;
}

test('a task file that is edited in the delay between two iterations does not cut it short', async (t) => {
  assert.ok((await waited(t, { why: 'pace' })) >= 1_500);
});

test('control: it does end the wait of an idle agent', async (t) => {
  assert.ok((await waited(t, {})) < 1_500);
});
