import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { parseHookInput } from '../../../../src/claude/hook-io/hook-input.ts';
import { carryOn } from '../../../../src/drive/hook/carry-on.ts';
import { driverContext } from '../../../../src/drive/turn/driver-context.ts';
import { turnWork } from '../../../../src/drive/turn/run-turn-work.ts';
import { initialState } from '../../../../src/engine/initial-state.ts';
import type { LoopState } from '../../../../src/engine/schema/state.ts';
import { readState } from '../../../../src/state/read-state.ts';
import { DEFAULT_POLICY } from '../../../../src/task/settings/defaults.ts';

test('a hook that is told to go while the checks run pauses the loop as interrupted, whatever they do about it', async (t) => {
  const project = mkdtempSync(join(tmpdir(), 'ralph-aborted-'));
  t.after(() => rmSync(project, { recursive: true, force: true }));
  const input = parseHookInput('{"hook_event_name":"Stop","session_id":"s","last_assistant_message":"x"}');
  assert.ok(input !== null);
  const env = { CLAUDE_PROJECT_DIR: project, XDG_STATE_HOME: join(project, 'outside') };
  const context = driverContext(input, env);
  const at = context.now();
  const { status: _status, ...loop } = initialState({
    ...{ loopId: 'l', name: null, mode: 'hook', taskPath: 'PROMPT.md', contractHash: null },
    ...{ maxIterations: 25, at, consented: true },
  });
  const state: LoopState = { ...loop, sessionId: 's', status: 'verifying', verifying: { since: at } };
  mkdirSync(dirname(context.files.state), { recursive: true });
  for (const ends of ['by rejecting', 'by an answer'] as const) {
    writeFileSync(context.files.state, JSON.stringify(state));
    const told = new AbortController();
    const work = {
      ...turnWork,
      runChecks: async () => {
        told.abort();
        if (ends === 'by rejecting') told.signal.throwIfAborted();
        return [];
      },
    };
    const answer = await carryOn(
      {
        context,
        options: { timeoutMs: 60_000, signal: told.signal, work },
        deadline: Date.now() + 60_000,
        notes: [],
        loaded: { kind: 'loop', state, policy: DEFAULT_POLICY, stored: null, mended: null, orphaned: false },
      },
      [{ type: 'verify' }],
    );
    assert.equal(answer, null, ends);
    const after = readState(context.files.state);
    assert.ok(after.kind === 'loop' && after.state.status === 'paused', ends);
    assert.equal(after.state.paused.reason, 'interrupted');
  }
});
