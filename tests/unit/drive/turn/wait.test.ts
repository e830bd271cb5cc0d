import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { waitUntil } from '../../../../src/drive/turn/wait.ts';
import { initialState } from '../../../../src/engine/initial-state.ts';
import { loopFiles } from '../../../../src/state/loop-files.ts';
import { withState } from '../../../../src/state/with-state.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { TEST_TIMEOUT_MS } from '../../../support/until.ts';

type Context = Parameters<typeof waitUntil>[0];
type Wait = Parameters<typeof waitUntil>[1];

test('a wait ends at once if the loop ended before it began', async (t) => {
  const dir = emptyFolder(t);
  const files = loopFiles(dir, null, { XDG_STATE_HOME: join(dir, 'outside') });
  const context = { context: { files }, transcriptPath: null } as unknown as Context;
  // Without the word to go a wait that sees nothing would last for an hour.
  const signal = AbortSignal.timeout(TEST_TIMEOUT_MS);
  const until = Date.now() + 3_600_000;
  const state = { loopId: 'loop-1', status: 'waiting' } as Wait['state'];
  const end = await waitUntil(context, { until, deadline: until, signal, state, taskPath: null });
  assert.equal(end, 'state-changed');
});

test('a clock set back by an hour does not lengthen a wait', async (t) => {
  const dir = emptyFolder(t);
  const files = loopFiles(dir, null, { XDG_STATE_HOME: join(dir, 'outside') });
  const loop = { loopId: 'loop-1', name: null, mode: 'runner', taskPath: 'PROMPT.md', contractHash: null } as const;
  const state = initialState({ ...loop, maxIterations: 5, at: new Date().toISOString(), consented: true });
  mkdirSync(dirname(files.state), { recursive: true });
  withState(files, () => ({ next: state, result: undefined }));
  const context = { context: { files }, transcriptPath: null } as unknown as Context;
  const signal = AbortSignal.timeout(TEST_TIMEOUT_MS);
  const real = Date.now;
  const wait = { until: real() + 700, deadline: Number.POSITIVE_INFINITY, signal, state, taskPath: null };
  const end = waitUntil(context, wait);
  t.mock.method(Date, 'now', () => real() - 3_600_000);
  assert.equal(await end, 'elapsed');
});
