import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { initialState } from '../../../src/engine/initial-state.ts';
import { type LoopIteration, loopIteration } from '../../../src/engine/schema/records.ts';
import { loopDirectoryIn } from '../../../src/state/task-folder/run-files.ts';
import {
  keepOutOfGit,
  putRunAway,
  showEvent,
  showIteration,
  showState,
  summaryOf,
} from '../../../src/state/task-folder/run-state.ts';
import { emptyFolder } from '../../support/folder.ts';

const AT = '2026-01-02T03:04:05.678Z';
const STATE = initialState({
  ...{ loopId: 'l', name: 'site', mode: 'runner', taskPath: '.ralph/site/task.md', contractHash: null },
  ...{ maxIterations: 5, at: AT, consented: true },
});
const EVENT = { type: 'loop.started', at: AT, loopId: 'l', iteration: 0 };

function entry(iteration: number): LoopIteration {
  return loopIteration.parse({
    ...{ loopId: 'l', iteration, outcome: 'completed', startedAt: AT, endedAt: AT, durationMs: 0, usage: null },
    ...{ turns: null, toolCalls: null, model: null, checklist: null, progress: true, summary: 'done' },
    completion: { promiseSeen: false, gateChecked: false, gatePassed: false, reasons: [] },
  });
}

function directory(context: TestContext) {
  const base = emptyFolder(context);
  const dir = join(base, 'site');
  mkdirSync(dir);
  return { base, files: loopDirectoryIn(dir) };
}

test('keeps two iterations of the same number side by side', (context) => {
  const { files } = directory(context);
  for (const number of [1, 1, 2]) showIteration(files, entry(number));
  assert.deepEqual(readdirSync(files.iterationsDir), ['001-2.json', '001.json', '002.json']);
});

test('archives what a run showed completely under its own name, and nothing if there was nothing', (context) => {
  const { files } = directory(context);
  putRunAway(files, AT);
  assert.equal(existsSync(files.runsDir), false);
  for (const run of [1, 2]) {
    showState(files, STATE);
    showEvent(files, EVENT);
    showIteration(files, entry(run));
    putRunAway(files, AT);
  }
  const [first = '', second = ''] = readdirSync(files.runsDir).sort();
  assert.deepEqual([first, second], ['2026-01-02T03-04-05.678Z', '2026-01-02T03-04-05.678Z.2']);
  assert.deepEqual(readdirSync(join(files.runsDir, second, 'iterations')), ['002.json']);
  assert.deepEqual(readdirSync(files.dir), ['runs']);
});

test('writes nothing through a link', (context) => {
  const { base, files } = directory(context);
  const outside = join(base, 'outside');
  writeFileSync(outside, 'mine');
  mkdirSync(join(base, 'elsewhere'));
  symlinkSync(outside, files.state);
  symlinkSync(outside, files.events);
  symlinkSync(join(base, 'elsewhere'), files.iterationsDir);
  assert.throws(() => showState(files, STATE), /no file of its own/);
  assert.throws(() => showEvent(files, EVENT), /no file of its own/);
  assert.throws(() => showIteration(files, entry(1)), /no directory of its own/);
  assert.equal(readFileSync(outside, 'utf8'), 'mine');
  assert.deepEqual(readdirSync(join(base, 'elsewhere')), []);
});

test("leaves the user's own .gitignore unchanged", (context) => {
  const { files } = directory(context);
  keepOutOfGit(files);
  const path = join(files.dir, '.gitignore');
  assert.match(readFileSync(path, 'utf8'), /^\/\.gitignore\n\/state\.json\n/);
  writeFileSync(path, 'mine\n');
  keepOutOfGit(files);
  assert.equal(readFileSync(path, 'utf8'), 'mine\n');
});

test('a summary is the first lines with content, bounded, with secrets masked', () => {
  assert.equal(summaryOf('\n\nOne.\n\nTwo.\nThree.\nFour.'), 'One.\nTwo.\nThree.');
  assert.equal(summaryOf(''), '');
  assert.ok(summaryOf('x'.repeat(10_000)).length <= 500);
  assert.doesNotMatch(summaryOf('DB_PASSWORD=hunter2hunter2'), /hunter2/);
});
