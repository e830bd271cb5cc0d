import { closeSync, openSync, writeSync } from 'node:fs';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { writeAtomically } from '../../../src/state/files/regular-file.ts';
import { withLock } from '../../../src/state/lock/lock.ts';
import { type LoopFiles, readState } from '../../../src/state/loop-files.ts';
import { serialise, withState } from '../../../src/state/with-state.ts';
import { counted, filesIn } from './a-state.ts';
import { withoutLinks } from './without-links.ts';

/**
 * Counts itself in the state again and again until it is killed, and says each number on stdout once it is on disk.
 * Usage: updater.cjs DIRECTORY NAME WAY, where WAY is how it updates: `locked` and `without-links` are the real thing,
 * `unlocked` and `in-place` leave out what they are named for and must be caught.
 */
const [directory = '', me = '', way = ''] = process.argv.slice(2);
const files = filesIn(directory);
const PATIENT = { waitMs: 120_000 };

const WAYS: Record<string, () => void> = {
  locked: () => withState(files, (current) => ({ next: counted(loop(current), me), result: undefined }), PATIENT),
  'without-links': () => WAYS['locked']?.(),
  unlocked: () => writeAtomically(files.state, serialise(counted(loop(readState(files.state)), me))),
  'in-place': () =>
    withLock(files.lock, () => writeInPlace(files, counted(loop(readState(files.state)), me)), PATIENT.waitMs),
};

function loop(current: ReturnType<typeof readState>): LoopState {
  if (current.kind === 'loop') return current.state;
  throw new Error(`the state is ${JSON.stringify(current)}`);
}

/** In two steps, as a disk would: at once it is torn by one kill of hundreds. */
function writeInPlace({ state }: LoopFiles, next: LoopState): void {
  const text = serialise(next);
  const half = text.length >> 1;
  const descriptor = openSync(state, 'w');
  writeSync(descriptor, text.slice(0, half));
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2);
  writeSync(descriptor, text.slice(half));
  closeSync(descriptor);
}

if (way === 'without-links') withoutLinks();
for (let count = 1; ; count++) {
  WAYS[way]?.();
  writeSync(1, `${count}\n`);
}
