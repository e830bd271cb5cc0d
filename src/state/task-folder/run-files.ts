import { lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { jsonOrNull } from '../../text/json.ts';
import { RalphError } from '../../text/message.ts';
import { readRegularFile, removeIfThere, writeAtomically } from '../files/regular-file.ts';

/** Absolute paths of a task folder's run state. */
export type RunFiles = Readonly<ReturnType<typeof runFiles>>;

export function runFiles(taskDir: string) {
  const dir = join(taskDir, '.ralph-runner');
  return {
    taskDir,
    /** Folder `.ralph-runner` of the task folder. */
    dir,
    status: join(dir, 'status.json'),
    iterations: join(dir, 'iterations.jsonl'),
    events: join(dir, 'events.jsonl'),
    transcriptsDir: join(dir, 'transcripts'),
    activeDir: join(dir, 'active-loops'),
    stopFlag: join(dir, 'stop.flag'),
    cancelFlag: join(dir, 'cancel.flag'),
    /** Destination of `archive`. */
    archiveDir: join(taskDir, '.ralph-runner-archive'),
  };
}

/** Returns what kind of thing is at a path, without following symbolic links. */
export function pathKind(path: string): 'nothing' | 'file' | 'directory' | 'other' {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return 'nothing';
  return there.isFile() ? 'file' : there.isDirectory() ? 'directory' : 'other';
}

/** Creates `.ralph-runner`, and the folder `inner` in it. Throws `refused` for links. */
export function makeRunDir(files: RunFiles, inner?: string): void {
  if (makeRealDir(files.dir)) writeAtomically(join(files.dir, '.gitignore'), '*\n');
  if (inner !== undefined) makeRealDir(inner);
}

/** Returns whether `.ralph-runner` exists. Throws `refused` if it is not a directory. */
export function hasRunDir(files: RunFiles): boolean {
  return isRealDir(files.dir);
}

/** Returns whether a directory exists. Throws `refused` for anything else at its path. */
export function isRealDir(path: string): boolean {
  const lies = pathKind(path);
  if (lies === 'nothing' || lies === 'directory') return lies === 'directory';
  throw notItsOwn(path, 'directory');
}

/** Throws `refused` for anything but a plain file at a path that is about to be written or read. */
export function refuseLink(path: string): void {
  const lies = pathKind(path);
  if (lies !== 'nothing' && lies !== 'file') throw notItsOwn(path, 'file');
}

/** Creates a directory. Returns false if it exists; throws `refused` for links. */
export function makeRealDir(path: string): boolean {
  if (isRealDir(path)) return false;
  mkdirSync(path, { recursive: true });
  return true;
}

function notItsOwn(path: string, what: 'file' | 'directory'): RalphError {
  const message = `${path} is no ${what} of its own: run state is neither written nor read through a link. Move it away.`;
  return new RalphError('refused', message);
}

/** Reads and removes the flag files of a task folder: each counts once. A new run ignores those of an earlier one. */
export function takeFlags(files: RunFiles): Readonly<Record<'stop' | 'cancel', boolean>> {
  if (!hasRunDir(files)) return { stop: false, cancel: false };
  return { stop: take(files.stopFlag), cancel: take(files.cancelFlag) };
}

/** Removes a flag; a link is removed itself, a directory does not count. */
function take(path: string): boolean {
  const lies = pathKind(path);
  if (lies === 'nothing' || lies === 'directory') return false;
  removeIfThere(path);
  return true;
}

/** Age from which a heartbeat is renewed. */
export const BEAT_MS = 60_000;
/** Age at which a heartbeat means that its loop is dead. */
export const DEAD_MS = 30 * 60_000;
const MAX_BYTES = 4096;

interface Heartbeat {
  readonly loopId: string;
  readonly at: string;
}

/** Writes a loop's heartbeat, unless the last one is younger than a minute. Throws `refused` for links. */
export function beat(files: RunFiles, loopId: string, at: string): void {
  const path = beatPath(files, loopId);
  const last = hasActiveDir(files) ? readBeat(path) : null;
  if (last !== null && last.loopId === loopId && distance(last.at, at) < BEAT_MS) return;
  makeRunDir(files, files.activeDir);
  writeAtomically(path, `${JSON.stringify({ loopId, at })}\n`);
}

export function endBeat(files: RunFiles, loopId: string): void {
  if (hasActiveDir(files)) removeIfThere(beatPath(files, loopId));
}

/** Removes heartbeats that are half an hour old, and returns the others that are readable. */
export function prune(files: RunFiles, at: string): Heartbeat[] {
  return beatsIn(files).flatMap(({ path, last }) => {
    if (last !== null && distance(last.at, at) < DEAD_MS) return [last];
    // An unreadable one may just be being written: only its age decides.
    if (last !== null || distance(new Date(statSync(path).mtimeMs).toISOString(), at) >= DEAD_MS) removeIfThere(path);
    return [];
  });
}

function beatsIn(files: RunFiles): { readonly path: string; readonly last: Heartbeat | null }[] {
  if (!hasActiveDir(files)) return [];
  return readdirSync(files.activeDir)
    .filter((name) => name.endsWith('.json'))
    .map((name) => join(files.activeDir, name))
    .filter((path) => pathKind(path) === 'file')
    .map((path) => ({ path, last: readBeat(path) }));
}

function hasActiveDir(files: RunFiles): boolean {
  return hasRunDir(files) && isRealDir(files.activeDir);
}

/** Returns a file name for a loop's id, whatever its characters. */
function beatPath(files: RunFiles, loopId: string): string {
  return join(files.activeDir, `${loopId.replace(/[^\w-]/g, '_').slice(0, 128)}.json`);
}

function readBeat(path: string): Heartbeat | null {
  if (pathKind(path) !== 'file') return null;
  const { loopId, at } = (jsonOrNull(readRegularFile(path, MAX_BYTES) ?? '') ?? {}) as Partial<Heartbeat>;
  if (typeof loopId !== 'string' || typeof at !== 'string') return null;
  return Number.isNaN(Date.parse(at)) ? null : { loopId, at };
}

/** Returns the absolute difference, because the clock may have been set back meanwhile. */
function distance(a: string, b: string): number {
  return Math.abs(Date.parse(a) - Date.parse(b));
}

export type LoopDirectory = Readonly<ReturnType<typeof loopDirectoryIn>>;

export function loopDirectoryIn(dir: string) {
  return {
    dir,
    config: join(dir, 'config.json'),
    /** The user's text for the reflection, instead of the default. */
    reflect: join(dir, 'reflect.md'),
    /** Projection of the loop: its state, its events, and one file for each iteration. */
    state: join(dir, 'state.json'),
    events: join(dir, 'events.jsonl'),
    iterationsDir: join(dir, 'iterations'),
    runsDir: join(dir, 'runs'),
  };
}
