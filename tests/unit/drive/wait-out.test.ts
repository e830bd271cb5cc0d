import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitOut } from '../../../src/drive/turn/wait-out.ts';
import { loopFiles } from '../../../src/state/loop-files.ts';

type Context = Parameters<typeof waitOut>[0];
type Wait = Parameters<typeof waitOut>[1];

test('a wait ends at once where somebody ended the loop before it began', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ralph-wait-'));
  t.after(() => rmSync(dir, { recursive: true, force: true }));
  const files = loopFiles(dir, null, { XDG_STATE_HOME: join(dir, 'outside') });
  const context = { files, input: { transcriptPath: null } } as unknown as Context;
  // Without the word to go a wait that sees nothing would last for an hour.
  const signal = AbortSignal.timeout(60_000);
  const until = Date.now() + 3_600_000;
  const state = { loopId: 'loop-1', status: 'waiting' } as Wait['state'];
  const end = await waitOut(context, { until, deadline: until, signal, state, taskPath: null });
  assert.equal(end, 'state-changed');
});
