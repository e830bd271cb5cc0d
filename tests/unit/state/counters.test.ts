import assert from 'node:assert/strict';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { countersOf } from '../../../src/engine/counters.ts';
import type { Counters, LoopState } from '../../../src/engine/schema/state.ts';
import { beginCounters, type KnownCounters } from '../../../src/state/counters-file.ts';
import { type LoopFiles, noticesOf, readCounters, readState } from '../../../src/state/loop-files.ts';
import { asleepMs } from '../../../src/state/process/sleep-watch.ts';
import { serialise, withState } from '../../../src/state/with-state.ts';
import { aProject, aState, putState } from './a-loop.ts';

const TOKENS = { inputTokens: 900, outputTokens: 80, cacheReadTokens: 7, cacheWriteTokens: 600 };

/** A loop in its third iteration, with usage. */
const THIRD = aState({
  iteration: 3,
  idleIterations: 2,
  epoch: 1,
  usage: { ...TOKENS, costUsd: 0.5, costBaseUsd: 0.25 },
  marks: { ...aState().marks, transcriptPath: '/t.jsonl', transcriptBytes: 4_000, callsBytes: 10 },
});

type Loop = Extract<ReturnType<typeof readState>, { kind: 'loop' }>;

function keeping(files: LoopFiles, state: LoopState): LoopState {
  beginCounters(files, state);
  putState(files, state);
  return state;
}

function look(files: LoopFiles, known?: KnownCounters): Loop {
  const lease = { loopId: 'loop-1', epoch: 9, ...(known && { known }) };
  return withState(
    files,
    (current) => {
      assert.ok(current.kind === 'loop');
      return { next: 'keep', result: current };
    },
    { lease },
  );
}

function change(files: LoopFiles, more: Partial<LoopState>): void {
  withState(files, (current) => {
    assert.ok(current.kind === 'loop');
    return { next: { ...current.state, ...more } as LoopState, result: undefined };
  });
}

function onDisk(files: LoopFiles): LoopState {
  const read = readState(files.state);
  assert.ok(read.kind === 'loop');
  return read.state;
}

const usage = (more: Partial<LoopState['usage']>): Partial<LoopState> => ({ usage: { ...THIRD.usage, ...more } });

const OLDER: Readonly<Record<string, Partial<LoopState>>> = {
  iteration: { iteration: 2 },
  'idle iterations': { idleIterations: 1 },
  epoch: { epoch: 0 },
  'input tokens': usage({ inputTokens: 899 }),
  'output tokens': usage({ outputTokens: 0 }),
  'cache read tokens': usage({ cacheReadTokens: 6 }),
  'cache write tokens': usage({ cacheWriteTokens: 1 }),
  cost: usage({ costUsd: 0.1 }),
  'cost that was unknown': usage({ costUsd: null }),
};

for (const [name, older] of Object.entries(OLDER)) {
  test(`A state that was put back with a lower ${name} gets the kept counts.`, (t) => {
    const files = aProject(t);
    keeping(files, THIRD);
    putState(files, { ...THIRD, ...older } as LoopState);
    const { state, wentBack } = look(files);
    assert.deepEqual(countersOf(state), countersOf(THIRD));
    assert.match(wentBack ?? '', /^The state of the loop was replaced by an older one/);
    assert.deepEqual(onDisk(files), state, 'also if the caller changes nothing');
    assert.deepEqual(
      noticesOf(files, 'loop-1').map(({ kind, text }) => [kind, text]),
      [['counters', wentBack]],
    );
    assert.equal(look(files).wentBack, undefined, 'once');
  });
}

test('The time in which a loop was stopped is the kept one, whatever somebody wrote into its state.', (t) => {
  const files = aProject(t);
  keeping(files, { ...THIRD, stoppedMs: 5_000 });
  for (const stoppedMs of [9_000_000, 0, undefined]) {
    putState(files, { ...THIRD, stoppedMs } as LoopState);
    assert.equal(look(files).state.stoppedMs, 5_000);
  }
  change(files, { stoppedMs: 6_000 });
  assert.deepEqual([onDisk(files).stoppedMs, readCounters(files)?.stoppedMs], [6_000, 6_000]);
  assert.deepEqual(noticesOf(files, 'loop-1'), []);
});

test('Control: a loop that keeps no counters has the counts of its state.', (t) => {
  const files = aProject(t);
  putState(files, { ...THIRD, iteration: 1 } as LoopState);
  assert.equal(look(files).state.iteration, 1);
  change(files, { iteration: 2 });
  assert.equal(existsSync(files.counters), false);
});

test('The warning names each count that is lower, as it was and as it is.', (t) => {
  const files = aProject(t);
  keeping(files, THIRD);
  putState(files, aState());
  assert.equal(
    look(files).wentBack,
    'The state of the loop was replaced by an older one (iteration 3 -> 0, idle iterations 2 -> 0, tokens 1580 -> 0, cost $0.50 -> $0.00); the loop continues from the higher counts.',
  );
});

test('Counters follow each change of the state, and nothing else.', (t) => {
  const files = aProject(t);
  keeping(files, THIRD);
  change(files, { iteration: 4 });
  assert.equal(readCounters(files)?.iteration, 4);
  const before = readFileSync(files.counters, 'utf8');
  change(files, { stopRequested: true });
  assert.equal(readFileSync(files.counters, 'utf8'), before);
  assert.deepEqual(noticesOf(files, 'loop-1'), []);
});

test('After a kill between state and counters, the state counts and nobody is warned.', (t) => {
  const files = aProject(t);
  keeping(files, THIRD);
  putState(files, { ...THIRD, iteration: 4 } as LoopState);
  const { state, wentBack } = look(files);
  assert.deepEqual([state.iteration, wentBack], [4, undefined]);
  change(files, { stopRequested: true });
  assert.equal(readCounters(files)?.iteration, 4);
});

test('The transcript up to the kept position is not counted again.', (t) => {
  const files = aProject(t);
  keeping(files, THIRD);
  putState(files, { ...aState(), marks: { ...aState().marks, callsBytes: 3 } } as LoopState);
  const { marks, usage: used } = look(files).state;
  assert.deepEqual([marks.transcriptBytes, marks.callsBytes, used.costBaseUsd], [4_000, 3, 0.25]);
});

test('No change lowers a count.', (t) => {
  const files = aProject(t);
  keeping(files, THIRD);
  change(files, { iteration: 0, ...usage({ inputTokens: 1, costUsd: null }) });
  assert.deepEqual(countersOf(onDisk(files)), countersOf(THIRD));
});

test('The counters of another loop say nothing about this one.', (t) => {
  const files = aProject(t);
  beginCounters(files, { ...THIRD, loopId: 'loop-2' });
  putState(files, aState());
  assert.equal(look(files).wentBack, undefined);
  change(files, { iteration: 1 });
  assert.deepEqual([readCounters(files)?.loopId, onDisk(files).iteration], ['loop-2', 1]);
});

/** Every file of the loop as it was, outside the project as well. */
function putAllBack(files: LoopFiles): () => void {
  const old = [files.state, files.counters].map((path) => [path, readFileSync(path)] as const);
  return () => {
    for (const [path, content] of old) writeFileSync(path, content);
  };
}

const inMemory = (state: LoopState): KnownCounters => ({ counters: countersOf(state) });

test('A driver remembers the counts if the files outside are put back as well.', (t) => {
  const files = aProject(t);
  keeping(files, aState());
  const putBack = putAllBack(files);
  const known = inMemory(aState());
  withState(files, () => ({ next: THIRD, result: 0 }), { lease: { loopId: 'loop-1', epoch: 9, known } });
  putBack();
  assert.equal(look(files).state.iteration, 0, 'control: without its memory');
  assert.equal(look(files, known).state.iteration, 3);
});

for (const [how, damage] of Object.entries({
  removed: (path: string) => rmSync(path),
  emptied: (path: string) => writeFileSync(path, ''),
  torn: (path: string) => writeFileSync(path, readFileSync(path, 'utf8').slice(0, 40)),
  'edited to nonsense': (path: string) => writeFileSync(path, '{"iteration":"none"}'),
})) {
  test(`Counters that were ${how} are written again by a process that remembers them.`, (t) => {
    const files = aProject(t);
    keeping(files, THIRD);
    damage(files.counters);
    const known = inMemory(THIRD);
    withState(
      files,
      (current) => {
        assert.ok(current.kind === 'loop');
        return { next: { ...current.state, iteration: 4 }, result: 0 };
      },
      { lease: { loopId: 'loop-1', epoch: 9, known } },
    );
    assert.equal((readCounters(files) as Counters).iteration, 4);
    assert.match(
      noticesOf(files, 'loop-1')[0]?.text ?? '',
      /counters\.json, which was missing or damaged, was written again/,
    );
  });
}

test('After a kill between state and counters, a state that is put back loses one change at most.', (t) => {
  const files = aProject(t);
  keeping(files, THIRD);
  const backup = readFileSync(files.state);
  change(files, { iteration: 4 });
  // Killed before it wrote the counters.
  putState(files, { ...THIRD, iteration: 5 } as LoopState);
  writeFileSync(files.state, backup);
  assert.equal(look(files).state.iteration, 4);
  putState(files, { ...THIRD, iteration: 5 } as LoopState);
  look(files);
  writeFileSync(files.state, backup);
  assert.equal(look(files).state.iteration, 5, 'nothing is lost once anybody has looked');
  rmSync(files.counters);
  assert.equal(look(files).state.iteration, 5);
  writeFileSync(files.state, backup);
  assert.equal(look(files).state.iteration, 3, 'control: without the counters');
});

test('Counters that were put back alone are named and written again, unless a kill explains them.', (t) => {
  const files = aProject(t);
  keeping(files, THIRD);
  const older = readFileSync(files.counters);
  change(files, { iteration: 4 });
  writeFileSync(files.counters, older);
  look(files);
  assert.deepEqual([readCounters(files)?.iteration, noticesOf(files, 'loop-1')], [4, []], 'as after a kill');
  change(files, { iteration: 5 });
  writeFileSync(files.counters, older);
  look(files);
  assert.equal(readCounters(files)?.iteration, 5);
  assert.match(noticesOf(files, 'loop-1')[0]?.text ?? '', /counters\.json was replaced by an older copy/);
});

test('A state that was written and read again has the same counters.', () => {
  const read = JSON.parse(serialise(THIRD)) as LoopState;
  assert.deepEqual(countersOf(read), countersOf(THIRD));
});

test('a sleep of the machine is added to state and counters once, not to a loop that goes on after a stop', (t) => {
  const files = aProject(t);
  const asleep = asleepMs() ?? 0;
  const startedAt = new Date(Date.now() - 9 * 3_600_000).toISOString();
  const evening = { ...THIRD, startedAt, asleepMs: asleep - 8 * 3_600_000 };
  keeping(files, evening);
  const night = (): number => Math.round((look(files).state.stoppedMs ?? 0) / 60_000);
  const asItWas = withState(files, (current) => ({ next: 'keep', result: current }), { goesOn: true });
  assert.equal(asItWas.kind === 'loop' && asItWas.state.stoppedMs, undefined);
  if (asleepMs() === null) return;
  assert.equal(night(), 480);
  change(files, { iteration: 4 });
  assert.equal(Math.round((readCounters(files)?.stoppedMs ?? 0) / 60_000), 480);
  assert.equal(night(), 480, 'it is added once');
  putState(files, { ...onDisk(files), asleepMs: asleep - 20 * 3_600_000 });
  assert.equal(night(), 480, 'a forged mark gives no more time');
});
