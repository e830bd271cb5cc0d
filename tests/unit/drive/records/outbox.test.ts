import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { deliverOutbox, enqueue, recordJournal } from '../../../../src/drive/records/journal.ts';
import type { Effect } from '../../../../src/engine/events.ts';
import { initialState } from '../../../../src/engine/initial-state.ts';
import type { LoopState } from '../../../../src/engine/schema/state.ts';
import { readLines } from '../../../../src/state/files/journal-lines.ts';
import { removeIfThere } from '../../../../src/state/files/regular-file.ts';
import { type LoopFiles, loopFiles } from '../../../../src/state/loop-files.ts';
import { withState } from '../../../../src/state/with-state.ts';
import { emptyFolder } from '../../../support/folder.ts';
import { decisionsOf, iterationsIn } from '../../../support/journal.ts';

const at = '2026-01-01T00:00:00.000Z';
const later = '2026-01-01T00:01:00.000Z';

const stateAt = (iteration: number): LoopState => ({
  ...initialState({
    ...{ loopId: 'l', name: null, mode: 'runner', taskPath: 'PROMPT.md', contractHash: null },
    ...{ maxIterations: 5, at, consented: true },
  }),
  iteration,
});

/** What the engine says at the end of the first iteration. */
const effects: readonly Effect[] = [
  {
    type: 'record-iteration',
    record: {
      ...{ loopId: 'l', iteration: 1, idleIterations: 0, kind: 'working', startedAt: at, endedAt: later },
      ...{ durationMs: 60_000, findings: null, states: [], claimed: false, toolCalls: 2, deniedCalls: 0 },
      ...{ outputTokens: 7, decision: 'running' },
    },
  },
  { type: 'record-event', event: { type: 'iteration.completed', at: later, loopId: 'l', iteration: 1 } },
  { type: 'prompt', notices: { rejection: [], misplacedSignal: null, warnings: [] }, steering: [] },
];

function _filesIn(t: TestContext): LoopFiles {
  const root = emptyFolder(t);
  const files = loopFiles(root, null, { XDG_STATE_HOME: join(root, 'state') });
  mkdirSync(files.runtimeDir, { recursive: true });
  mkdirSync(files.outsideDir, { recursive: true });
  return files;
}

function filesIn(t: TestContext): LoopFiles {
  const root = emptyFolder(t);
  const files = loopFiles(root, null, { XDG_STATE_HOME: join(root, 'state') });
  mkdirSync(files.runtimeDir, { recursive: true });
  mkdirSync(files.outsideDir, { recursive: true });
  return files;
}

const write = (files: LoopFiles, state: LoopState): void =>
  withState(files, () => ({ next: state, result: undefined }));
const told = (files: LoopFiles): [number, number] => [
  iterationsIn(files).length,
  decisionsOf(readLines(files.events).entries).length,
];

test('A runner killed after the state counted its iteration leaves complete journals to the next one.', (t) => {
  const files = filesIn(t);
  enqueue(files, later, effects);
  write(files, stateAt(1));
  deliverOutbox(files, later);
  assert.deepEqual(told(files), [1, 1]);
  deliverOutbox(files, later);
  assert.deepEqual(told(files), [1, 1]);
});

test('What was published before the kill is not published again, line by line.', (t) => {
  const files = filesIn(t);
  enqueue(files, later, effects);
  write(files, stateAt(1));
  recordJournal(files, later, effects.slice(0, 1));
  deliverOutbox(files, later);
  assert.deepEqual(told(files), [1, 1]);
});

test("Publishes nothing of an iteration that was never counted, was dropped or is another loop's.", (t) => {
  const files = filesIn(t);
  enqueue(files, later, effects);
  write(files, stateAt(0));
  deliverOutbox(files, later);
  assert.deepEqual(told(files), [0, 0]);
  enqueue(files, later, effects);
  write(files, { ...stateAt(3), loopId: 'another' });
  deliverOutbox(files, later);
  assert.deepEqual(told(files), [0, 0]);
  enqueue(files, later, effects);
  removeIfThere(files.outbox);
  write(files, stateAt(1));
  deliverOutbox(files, later);
  assert.deepEqual(told(files), [0, 0]);
});
