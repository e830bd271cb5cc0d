import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { type TestContext, test } from 'node:test';
import { lastIterations } from '../../../../src/drive/records/journal.ts';
import { type Entry, readStream } from '../../../../src/state/event-stream.ts';
import type { LoopFiles } from '../../../../src/state/loop-files.ts';
import { aProject } from '../../state/a-loop.ts';

const event = (type: string, loopId: string, more: object = {}): Entry => ({ v: 1, type, loopId, ...more });

/** Files of a loop `own` with two iterations, and of another loop. */
function recorded(t: TestContext): LoopFiles {
  const files = aProject(t);
  const lines = (entries: readonly Entry[]): string => entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');
  const streamed = [
    event('iteration.ended', 'other', { iteration: 9 }),
    event('loop.started', 'own'),
    event('iteration.ended', 'own', { iteration: 2 }),
    event('agent.text', 'own', { text: '"type":"iteration.ended"' }),
    event('iteration.ended', 'own', { iteration: 3 }),
    event('iteration.ended', 'other', { iteration: 10 }),
  ];
  // An event that another program wrote, with its keys in another order.
  const foreign = { loopId: 'own', type: 'tool.done', v: 1 };
  writeFileSync(files.events, lines([...streamed, foreign]));
  return files;
}

test('the last iterations are those of the loop, oldest first', (t) => {
  const files = recorded(t);
  const last = (most: number): unknown[] => lastIterations(files, 'own', most).map(({ iteration }) => iteration);
  assert.deepEqual(last(1), [3]);
  assert.deepEqual(last(10), [2, 3]);
});

test('a reader of some types of events gets no other, however the line is written', (t) => {
  const files = recorded(t);
  const read = (isWanted?: (type: string) => boolean): unknown[] => {
    const types: unknown[] = [];
    readStream(files, 'own', 0, ({ type }) => types.push(type), isWanted);
    return types;
  };
  assert.deepEqual(
    read((type) => type.startsWith('iteration.')),
    ['iteration.ended', 'iteration.ended'],
  );
  assert.deepEqual(
    read((type) => type === 'tool.done'),
    ['tool.done'],
  );
  assert.equal(read().length, 5, 'control: all of the loop');
});
