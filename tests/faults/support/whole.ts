import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beginCounters } from '../../../src/state/counters-file.ts';
import { writeContract } from '../../../src/state/evidence/store-evidence.ts';
import { readLines } from '../../../src/state/files/journal-lines.ts';
import { newOwner } from '../../../src/state/lock/owner.ts';
import { noticesOf, readContract, readCounters, readState } from '../../../src/state/loop-files.ts';
import { listArchive, serialise } from '../../../src/state/with-state.ts';
import { aContract, aState, filesIn, tallyOf } from '../../support/faults/a-state.ts';
import { AT, NIGHT_MS } from '../../support/faults/operations.ts';

/** An operation that fails somewhere: what lies there before, and what must be true of the disk afterwards. */
export interface Situation {
  readonly operation: string;
  readonly prepare: (directory: string) => void;
  /** Throws when something is not whole, or not there though so many attempts said that they did it. */
  readonly check: (directory: string, acknowledged: number, attempts: number) => void;
}

const deadPid = spawnSync(process.execPath, ['-e', '']).pid;

function putState(directory: string, text: string): void {
  const files = filesIn(directory);
  mkdirSync(files.runtimeDir, { recursive: true });
  writeFileSync(files.state, text);
}

function putDeadLock(directory: string): void {
  const { lock } = filesIn(directory);
  const owner = { ...newOwner(), pid: deadPid };
  writeFileSync(lock, JSON.stringify(owner));
  writeFileSync(`${lock}.reap-${owner.token.slice(-8)}`, JSON.stringify({ ...newOwner(), pid: deadPid }));
}

function checkUpdated(directory: string, acknowledged: number, attempts: number): void {
  const read = readState(filesIn(directory).state);
  assert.ok(read.kind === 'loop', `the state is ${JSON.stringify(read)}`);
  const updates = tallyOf(read.state)['me'] ?? 0;
  assert.equal(updates, read.state.iteration, 'the state is neither the old nor the new one');
  assert.ok(updates >= acknowledged, 'an update was acknowledged and is not there');
  assert.ok(updates <= attempts, 'an update is there that nobody made');
}

/** A loop that keeps counters. */
function putCounted(directory: string): void {
  putState(directory, serialise(aState()));
  beginCounters(filesIn(directory), aState());
}

/** Nobody finds a state that was put back, and an acknowledged change is among the counters. */
function checkCounted(directory: string, acknowledged: number, attempts: number): void {
  checkUpdated(directory, acknowledged, attempts);
  const files = filesIn(directory);
  const read = readState(files.state);
  const counters = readCounters(files);
  assert.ok(read.kind === 'loop' && counters !== null, 'the counters are whole');
  assert.ok(counters.iteration <= read.state.iteration, 'the counters have more than the state');
  assert.ok(counters.iteration >= acknowledged, 'an update was acknowledged and is not among the counters');
  assert.deepEqual(noticesOf(files, read.state.loopId), []);
}

/** State and counters have the whole night or nothing of it. */
function checkSlept(directory: string, acknowledged: number): void {
  const files = filesIn(directory);
  const read = readState(files.state);
  assert.ok(read.kind === 'loop', `the state is ${JSON.stringify(read)}`);
  const found = [read.state, readCounters(files)].map((one) => one?.stoppedMs ?? 0);
  assert.ok(
    found.every((ms) => ms === NIGHT_MS || (ms === 0 && acknowledged === 0)),
    `left out: ${found}`,
  );
  assert.deepEqual(noticesOf(files, read.state.loopId), []);
}

function ended(): string {
  const end = { at: AT, as: 'complete', message: '', verified: false } as const;
  return serialise({ ...aState(), status: 'ended', ended: end });
}

function checkFinished(directory: string, acknowledged: number): void {
  const files = filesIn(directory);
  const archived = listArchive(files).map(({ content }) => content.kind);
  const read = readState(files.state);
  assert.ok(archived.length <= 1 && !archived.includes('corrupt'), `in the archive are ${archived}`);
  assert.ok(read.kind === 'loop' || (read.kind === 'absent' && archived.length === 1), `the state is ${read.kind}`);
  if (acknowledged > 0) assert.deepEqual([read.kind, archived, readContract(files)], ['absent', ['loop'], null]);
}

function checkMovedAside(directory: string, acknowledged: number): void {
  const files = filesIn(directory);
  const read = readState(files.state);
  const aside = existsSync(files.archiveDir) ? readdirSync(files.archiveDir) : [];
  const kept = aside.map((name) => readFileSync(join(files.archiveDir, name), 'utf8'));
  assert.deepEqual([...kept, ...(read.kind === 'corrupt' ? [readFileSync(files.state, 'utf8')] : [])], ['{"torn']);
  if (acknowledged > 0) assert.equal(read.kind, 'loop');
}

export const SITUATIONS: Readonly<Record<string, Situation>> = {
  'an update': {
    operation: 'update',
    prepare: (directory) => putState(directory, serialise(aState())),
    check: checkUpdated,
  },
  'an update over the lock and the marker of killed processes': {
    operation: 'update',
    prepare: (directory) => {
      putState(directory, serialise(aState()));
      putDeadLock(directory);
    },
    check: checkUpdated,
  },
  'an update where there are no hard links': {
    operation: 'update without hard links',
    prepare: (directory) => putState(directory, serialise(aState())),
    check: checkUpdated,
  },
  'an update of a loop that keeps counters': {
    operation: 'update',
    prepare: putCounted,
    check: checkCounted,
  },
  'the first state of a loop': {
    operation: 'begin',
    prepare: (directory) => mkdirSync(directory, { recursive: true }),
    check: (directory, acknowledged) => {
      const { kind } = readState(filesIn(directory).state);
      assert.ok(kind === 'loop' || (kind === 'absent' && acknowledged === 0), `the state is ${kind}`);
    },
  },
  'the end of a loop': {
    operation: 'finish',
    prepare: (directory) => {
      putState(directory, ended());
      writeContract(filesIn(directory), aContract('old'));
    },
    check: checkFinished,
  },
  'moving a corrupt state aside': {
    operation: 'move aside',
    prepare: (directory) => putState(directory, '{"torn'),
    check: checkMovedAside,
  },
  'a contract over an older one': {
    operation: 'contract',
    prepare: (directory) => writeContract(filesIn(directory), aContract('old')),
    check: (directory, acknowledged) => {
      const hash = readContract(filesIn(directory))?.hash;
      assert.ok(hash === 'new' || (hash === 'old' && acknowledged === 0), `the contract is ${hash}`);
    },
  },
  'a line of a journal': {
    operation: 'journal',
    prepare: (directory) => {
      mkdirSync(filesIn(directory).runtimeDir, { recursive: true });
      writeFileSync(filesIn(directory).events, '{"n":1}\n{"n":2}\n{"to');
    },
    check: (directory, acknowledged) => {
      const numbers = readLines(filesIn(directory).events).entries.map(({ n }) => n);
      assert.deepEqual(numbers.slice(0, 2), [1, 2]);
      if (acknowledged > 0) assert.equal(numbers.at(-1), 'new');
    },
  },
  'a sweep of leftovers': {
    operation: 'sweep',
    prepare: (directory) => {
      putState(directory, serialise(aState()));
      putDeadLock(directory);
      writeFileSync(`${filesIn(directory).state}.${deadPid.toString(36)}-aaaa-1abcdefgh.tmp`, '');
    },
    check: (directory, acknowledged) => {
      checkUpdated(directory, 0, 0);
      if (acknowledged > 0)
        assert.ok(!readdirSync(filesIn(directory).runtimeDir).some((name) => name.endsWith('.tmp')));
    },
  },
};

/** A sleep of the machine is stored before the state that has it, unlike the counts. */
export const SLEEP: Situation = { operation: 'sleep', prepare: putCounted, check: checkSlept };

export const SLEEP_CONTROL: Situation = { ...SLEEP, operation: 'control: a night that is added again' };

/** What the checks must catch: the same update with the guarantee left out. */
export const CONTROLS: readonly Situation[] = [
  ...['control: update in place', 'control: swallowed error'].map((operation) => ({
    operation,
    prepare: (directory: string) => putState(directory, serialise(aState())),
    check: checkUpdated,
  })),
  { operation: 'control: counters before the state', prepare: putCounted, check: checkCounted },
];
