import { closeSync, mkdirSync, openSync, writeSync } from 'node:fs';
import { stoppedFor } from '../../../src/engine/policy/loop-time.ts';
import type { LoopState } from '../../../src/engine/schema/state.ts';
import { beginCounters } from '../../../src/state/counters-file.ts';
import { writeContract } from '../../../src/state/evidence/store-evidence.ts';
import { appendLine } from '../../../src/state/files/journal-lines.ts';
import { withLock } from '../../../src/state/lock/lock.ts';
import { sweepLeftovers } from '../../../src/state/lock/sweep-leftovers.ts';
import { type ReadState, readState } from '../../../src/state/loop-files.ts';
import { archiveState, dropContract, quarantine, serialise, withState } from '../../../src/state/with-state.ts';
import { aContract, aState, counted, filesIn } from './a-state.ts';
import { withoutLinks } from './without-links.ts';

export const AT = '2026-02-28T12:00:00Z';

function loop(current: ReadState): LoopState {
  if (current.kind === 'loop') return current.state;
  throw new Error(`the state is ${JSON.stringify(current)}`);
}

function update(directory: string): void {
  withState(filesIn(directory), (current) => ({ next: counted(loop(current), 'me'), result: undefined }));
}

const MORNING = '2026-02-28T20:00:00Z';
const NIGHT = AT;
export const NIGHT_MS = 8 * 3_600_000;

/** Leaves a night out of a loop's time with its first iteration. */
function sleep(directory: string, add: (state: LoopState) => LoopState): void {
  withState(filesIn(directory), (current) => {
    const state = loop(current);
    return { next: state.iteration > 0 ? 'keep' : { ...add(state), iteration: 1 }, result: undefined };
  });
}

/** What the fault tests let fail at every system call. Each stands for one thing that hooks and commands do. */
export const OPERATIONS: Readonly<Record<string, (directory: string) => void>> = {
  update,
  'update without hard links': (directory) => {
    withoutLinks();
    update(directory);
  },
  sleep: (directory) => sleep(directory, (state) => stoppedFor(state, NIGHT, MORNING)),
  'control: a night that is added again': (directory) =>
    sleep(directory, (state) => ({ ...state, stoppedMs: (state.stoppedMs ?? 0) + NIGHT_MS })),
  begin: (directory) => {
    const files = filesIn(directory);
    mkdirSync(files.runtimeDir, { recursive: true });
    withState(files, () => ({ next: aState(), result: undefined }));
  },
  finish: (directory) => {
    const files = filesIn(directory);
    withState(files, (current) => {
      if (current.kind === 'absent') return { next: 'keep', result: undefined };
      archiveState(files, loop(current), AT, 'complete');
      dropContract(files);
      return { next: 'remove', result: undefined };
    });
  },
  'move aside': (directory) => {
    const files = filesIn(directory);
    withState(files, (current) => {
      if (current.kind === 'corrupt') quarantine(files, AT, 'corrupt');
      return { next: aState(), result: undefined };
    });
  },
  contract: (directory) => {
    writeContract(filesIn(directory), aContract('new'));
  },
  journal: (directory) => appendLine(filesIn(directory).events, { n: 'new', padding: 'x'.repeat(2000) }),
  sweep: (directory) => {
    sweepLeftovers(filesIn(directory), Date.now() + 120_000);
  },
  'control: update in place': (directory) => {
    const files = filesIn(directory);
    withLock(files.lock, () => {
      const text = serialise(counted(loop(readState(files.state)), 'me'));
      const descriptor = openSync(files.state, 'w');
      try {
        writeSync(descriptor, Buffer.from(text));
      } finally {
        closeSync(descriptor);
      }
    });
  },
  'control: counters before the state': (directory) => {
    const files = filesIn(directory);
    beginCounters(files, counted(loop(readState(files.state)), 'me'));
    update(directory);
  },
  'control: swallowed error': (directory) => {
    try {
      update(directory);
    } catch {
      // as if it had worked
    }
  },
};
