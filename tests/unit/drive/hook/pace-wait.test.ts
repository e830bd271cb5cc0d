import assert from 'node:assert/strict';
import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { driverContext } from '../../../../src/drive/control/ownership.ts';
import { runEffects } from '../../../../src/drive/effects/run-effects.ts';
import { hookDriver } from '../../../../src/drive/hook/stop/hook-driver.ts';
import { newTurn } from '../../../../src/drive/turn/turn.ts';
import type { Effect } from '../../../../src/engine/events.ts';
import { initialState } from '../../../../src/engine/initial-state.ts';
import type { LoopState, StateOf } from '../../../../src/engine/schema/state.ts';
import { parseHookInput } from '../../../../src/hosts/hook-io/hook-input.ts';
import { effectiveValues } from '../../../../src/task/settings/defaults.ts';
import { readValues } from '../../../../src/task/settings/read-values.ts';
import { instantOf } from '../../../../src/text/time.ts';
import { DEFAULT_POLICY } from '../../../support/contract-terms.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { TEST_TIMEOUT_MS } from '../../../support/until.ts';

const HOUR = 3_600_000;

/** A hook in the middle of a wait that lasts `delayMs` more; its task file was written after the wait had begun. */
async function waited(
  t: TestContext,
  delayMs: number,
  why: Partial<StateOf<'waiting'>['waiting']>,
  writtenAt?: number,
): Promise<void> {
  const project = emptyFolder(t);
  const input = parseHookInput(
    JSON.stringify({ hook_event_name: 'Stop', session_id: 's', last_assistant_message: 'x' }),
  );
  assert.ok(input !== null);
  const env = { CLAUDE_PROJECT_DIR: project, XDG_STATE_HOME: join(project, 'outside') };
  const context = driverContext(input, env);
  const now = Date.now();
  const at = instantOf(now - 60_000);
  const until = instantOf(now + delayMs);
  const { status: _status, ...loop } = initialState({
    ...{ loopId: 'l', name: null, mode: 'hook', taskPath: 'tasks/a/RALPH.md', contractHash: null },
    ...{ maxIterations: 25, at, consented: true },
  });
  const state: LoopState = {
    ...loop,
    sessionId: 's',
    status: 'waiting',
    waiting: { since: at, until, delayMs, last: false, woken: false, seen: null, ...why },
  };
  for (const [path, text] of [
    [context.files.state, JSON.stringify(state)],
    [join(project, state.taskPath), 'Do it.\n'],
  ] as const) {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  if (writtenAt !== undefined) utimesSync(join(project, state.taskPath), writtenAt / 1000, writtenAt / 1000);
  const { idle } = readValues(effectiveValues({ idle: {} }, 'prompt'), 'prompt').policy;
  const policy = { ...DEFAULT_POLICY, idle, pace: { ...DEFAULT_POLICY.pace, delayMs } };
  const effects: Effect[] = [{ type: 'wait', until }];
  const loaded = { state, policy, stored: null, restored: null, lost: null };
  // One that sits out an hour is told to go, and gives no answer.
  const signal = AbortSignal.timeout(TEST_TIMEOUT_MS);
  const turn = newTurn(context, loaded, { signal: () => signal, deadline: now + HOUR, freshContext: false });
  const answer = await runEffects(turn, hookDriver([]), effects);
  assert.equal(answer?.decision, 'block');
}

test('editing the task file during the delay between two iterations does not shorten it', async (t) => {
  const began = performance.now();
  await waited(t, 1_500, { why: 'pace' });
  assert.ok(performance.now() - began >= 1_400, `${performance.now() - began} ms`);
});

test('control: editing the task file does end the wait of an idle agent', async (t) => {
  await waited(t, HOUR, {});
});

test('a task file that is written in the very millisecond of the first look ends the wait', async (t) => {
  const now = Date.now();
  t.mock.timers.enable({ apis: ['Date'], now });
  await waited(t, HOUR, {}, now + 0.7);
});
