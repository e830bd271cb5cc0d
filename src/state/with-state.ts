import { existsSync, lstatSync, mkdirSync, readFileSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { atLeast, higher } from '../engine/counters.ts';
import type { LoopState, StateOf } from '../engine/schema/state.ts';
import { RalphError } from '../text/message.ts';
import { type KnownCounters, keepCounters, keepStoppedTime, withKept } from './counters-file.ts';
import { freePath, namesIn, removeIfThere, syncDirectory, writeAtomically } from './files/regular-file.ts';
import { withLock } from './lock/lock.ts';
import { type LoopFiles, parseState, type ReadState, readCounters, readState } from './loop-files.ts';
import { withThisProgram } from './process/program.ts';
import { awake, lookAtClock } from './process/sleep-watch.ts';

export interface Change<T> {
  /** New state, `keep` for no change, or `remove` for a state that is in the archive. */
  readonly next: LoopState | 'keep' | 'remove';
  readonly result: T;
  /** Called under the lock after `next` is written, so that records follow the order of the changes. */
  readonly written?: () => void;
}

export interface Lease {
  readonly loopId: string;
  readonly epoch: number;
  /** Counters in the memory of a process that drives the loop. */
  readonly known?: KnownCounters;
}

interface StateOptions {
  /** Lease of the caller: once another process has taken over the loop, `decide` is not called. */
  readonly lease?: Lease | null;
  /** The loop is started or resumed: the caller excludes the whole time without a process, including any sleep. */
  readonly goesOn?: boolean;
  readonly waitMs?: number;
}

/**
 * Changes a loop's state under its lock (read-modify-write); the only way to do so. `decide` must be quick and must not wait.
 * The counts of a loop that keeps counters never fall: an older state that was put back gets the kept counts first, and a notice
 * is recorded. After an error the file is entirely old or entirely new. Without the folder of the runtime files there is no
 * loop: `decide` gets `absent`, and nothing is created. Throws, without changing the state file, `state-fenced` for an older
 * epoch than the one on disk, `state-newer` for the file of a newer program, `state-corrupt` for an unusable file that `decide`
 * has not moved aside or a new state that could not be read again, `no-loop` for a new state without that folder.
 */
export function withState<T>(
  files: LoopFiles,
  decide: (current: ReadState) => Change<T>,
  options: StateOptions = {},
): T {
  // Notes a sleep of the machine first, so that `decide` does not count it.
  lookAtClock();
  if (statSync(files.runtimeDir, { throwIfNoEntry: false }) === undefined) {
    const { next, result } = decide({ kind: 'absent' });
    if (next === 'keep') return result;
    throw new RalphError('no-loop', `${files.runtimeDir} no longer exists.`);
  }
  return withLock(files.lock, (assertHeld) => changeUnderLock(files, decide, options, assertHeld), options.waitMs);
}

function changeUnderLock<T>(
  files: LoopFiles,
  decide: (current: ReadState) => Change<T>,
  options: StateOptions,
  assertHeld: () => void,
): T {
  const found = readState(files.state);
  const known = options.lease?.known;
  const stored = readCounters(files);
  const read = found.kind === 'loop' ? withKept(files, found.state, stored, known) : found;
  const current = read.kind === 'loop' && options.goesOn !== true ? { ...read, state: awake(read.state) } : read;
  if (current.kind === 'loop' && options.lease) refuseOlderEpoch(current.state, options.lease);
  const kept = current.kind === 'loop' ? keepCounters(files, current.state, stored, known, true) : stored;
  // Serialised before `decide`, which may change the object.
  const before = found.kind === 'loop' ? serialise(found.state) : null;
  const decided = decide(current.kind === 'loop' ? { ...current, state: withThisProgram(current.state) } : current);
  const { result } = decided;
  const raised = current.kind === 'loop' && current.wentBack !== undefined ? current.state : 'keep';
  const next = decided.next === 'keep' ? raised : decided.next;
  if (next === 'keep') return result;
  if (current.kind === 'newer') {
    const message = `${files.state} belongs to a newer ralph-loop (version ${current.version}) and was left as it is.`;
    throw new RalphError('state-newer', message);
  }
  assertHeld();
  if (next === 'remove') {
    removeState(files);
    return result;
  }
  if (current.kind === 'corrupt') refuseToOverwrite(files, current.problem);
  if (current.kind === 'loop' && current.state.loopId === next.loopId) refuseOlderEpoch(current.state, next);
  // `decide` writes the counters of a new loop, so they are read again.
  const begun = kept?.loopId === next.loopId ? kept : readCounters(files);
  const counted = atLeast(next, higher(begun, known?.counters ?? null, next.loopId));
  const after = serialise(counted);
  // If the file is missing, `decide` moved it aside.
  if (after !== before || !existsSync(files.state)) {
    refuseUnreadable(after);
    keepStoppedTime(files, counted, begun);
    writeAtomically(files.state, after);
  }
  keepCounters(files, counted, begun, known);
  decided.written?.();
  return result;
}

function removeState({ state, runtimeDir }: LoopFiles): void {
  removeIfThere(state);
  syncDirectory(runtimeDir);
}

/**
 * Removes what an archived loop has left before a new one stores its evidence. The state goes first: if the start is killed,
 * a state left alone would lack its evidence, and would hold sessions of a loop that is gone.
 */
export function removeFormer(files: LoopFiles): void {
  removeState(files);
  dropContract(files);
}

export function serialise(state: LoopState): string {
  return `${JSON.stringify(state, null, 2)}\n`;
}

function refuseOlderEpoch(current: LoopState, writer: { readonly loopId: string; readonly epoch: number }): void {
  if (writer.loopId === current.loopId && writer.epoch >= current.epoch) return;
  const message = `another process has taken over loop ${current.loopId} (epoch ${current.epoch}). This process drove loop ${writer.loopId} (epoch ${writer.epoch}) and may no longer write.`;
  throw new RalphError('state-fenced', message);
}

function refuseToOverwrite(files: LoopFiles, problem: string): void {
  if (statSync(files.state, { throwIfNoEntry: false }) === undefined) return;
  throw new RalphError('state-corrupt', `${files.state} is unusable (${problem}) and was not moved aside.`);
}

/** Throws for a state that could not be read again: in JSON, NaN becomes null and undefined disappears. */
function refuseUnreadable(text: string): void {
  const read = parseState(text);
  if (read.kind === 'loop') return;
  const problem = read.kind === 'corrupt' ? read.problem : `it would be of kind ${read.kind}`;
  throw new RalphError('state-corrupt', `the state could not be read again after this change: ${problem}`);
}

/** Writes an ended state into the archive and returns its path. Called under the lock; idempotent after a crash. */
export function archiveState(files: LoopFiles, state: LoopState, at: string, label: string): string {
  mkdirSync(files.archiveDir, { recursive: true });
  const content = serialise(state);
  for (let copy = 1; ; copy++) {
    const path = `${archiveStem(files, at, label)}${copy === 1 ? '' : `.${copy}`}.json`;
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (there === undefined) {
      writeAtomically(path, content);
      return path;
    }
    if (there.isFile() && readFileSync(path, 'utf8') === content) return path;
  }
}

/** Errors for a path where something other than a file is. The contract is then removed: the next start needs all options. */
const TAKEN = ['EISDIR', 'ENOTDIR', 'EEXIST', 'ENOTEMPTY'];

/** Moves contract and manifest of an ended loop aside, for a resume. */
export function dropContract(files: LoopFiles): void {
  for (const path of [files.promptedTurn, files.freeReads]) removeIfThere(path);
  for (const path of [files.contract, files.evidence]) setAside(path);
  // If the contract reappeared after a power failure, the next loop's state would seem tampered with.
  if (existsSync(files.outsideDir)) syncDirectory(files.outsideDir);
}

function setAside(path: string): void {
  try {
    renameSync(path, `${path}.ended`);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && !TAKEN.includes(code)) throw error;
    removeIfThere(path);
  }
}

/** Moves an unusable state file into the archive and returns its new path. Called under the lock. */
export function quarantine(files: LoopFiles, at: string, label: 'corrupt' | 'tampered'): string {
  mkdirSync(files.archiveDir, { recursive: true });
  const path = freePath(archiveStem(files, at, label), '.json');
  renameSync(files.state, path);
  syncDirectory(files.archiveDir);
  syncDirectory(files.runtimeDir);
  return path;
}

/** Lists the archived states, newest last, or only the `most` newest; without files of other programs. */
export function listArchive(files: LoopFiles, most?: number): { path: string; file: string; content: ReadState }[] {
  return archivedNames(files.archiveDir)
    .slice(most === undefined ? 0 : -most)
    .map((file) => {
      const path = join(files.archiveDir, file);
      return { path, file, content: readState(path) };
    });
}

interface ArchivedLoop {
  readonly state: LoopState;
  /** Name of its file in the archive. */
  readonly file: string;
}

/** Reads the archived loops, newest first, skipping unreadable files. */
export function* archivedLoops(files: LoopFiles): Generator<ArchivedLoop, undefined> {
  for (const file of archivedNames(files.archiveDir).reverse()) {
    const content = readState(join(files.archiveDir, file));
    if (content.kind === 'loop') yield { state: content.state, file };
  }
}

/** Returns the last state of an ended loop from the archive; null if it is not archived. */
export function endedState(files: LoopFiles, loopId: string): StateOf<'ended'> | null {
  for (const { state } of archivedLoops(files)) if (state.loopId === loopId && state.status === 'ended') return state;
  return null;
}

/** Returns the last archived loop; null if none can be read. */
export function lastArchived(files: LoopFiles): ArchivedLoop | null {
  return archivedLoops(files).next().value ?? null;
}

/** Returns the names of the files in an archive that begin with an instant, newest last. */
export function archivedNames(folder: string): string[] {
  return namesIn(folder)
    .map((file) => ({ file, age: orderOf(file) }))
    .filter(({ age }) => age !== '')
    .sort((a, b) => (a.age < b.age ? -1 : 1))
    .map(({ file }) => file);
}

/** Adds later facts to the archived state of an ended loop. Returns whether it was found. The caller holds the lock. */
export function amendArchived(files: LoopFiles, loopId: string, change: (ended: LoopState) => LoopState): boolean {
  for (const { state, file } of archivedLoops(files)) {
    if (state.loopId !== loopId || state.status !== 'ended') continue;
    writeAtomically(join(files.archiveDir, file), serialise(change(state)));
    return true;
  }
  return false;
}

function archiveStem({ archiveDir }: LoopFiles, at: string, label: string): string {
  return join(archiveDir, `${at.replaceAll(':', '-')}-${label}`);
}

/** Returns the sort key of a name, by instant and copy, unlike text order; '' for another program's file. */
function orderOf(name: string): string {
  const [, instant, fraction = '', copy = '1'] =
    /^(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)(?:\.(\d+))?Z-.*?(?:\.(\d+))?\.json$/.exec(name) ?? [];
  return instant === undefined ? '' : `${instant}.${fraction.padEnd(9, '0')} ${copy.padStart(9, '0')} ${name}`;
}
