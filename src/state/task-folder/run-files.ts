import { lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { RalphError } from '../../text/message.ts';
import { removeIfThere, writeAtomically } from '../files/regular-file.ts';

/** Paths of a task folder's run state, absolute. */
export type RunFiles = Readonly<ReturnType<typeof runFiles>>;

export function runFiles(taskDir: string) {
  const dir = join(taskDir, '.ralph-runner');
  return {
    taskDir,
    /** `.ralph-runner` of the task folder. */
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

/** Returns what is at a path, symbolic links not followed. */
export function whatLies(path: string): 'nothing' | 'file' | 'directory' | 'other' {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return 'nothing';
  return there.isFile() ? 'file' : there.isDirectory() ? 'directory' : 'other';
}

/** Creates `.ralph-runner`, and the folder `inner` in it. Throws `refused` for links. */
export function makeRunDir(files: RunFiles, inner?: string): void {
  if (makeRealDir(files.dir)) writeAtomically(join(files.dir, '.gitignore'), '*\n');
  if (inner !== undefined) makeRealDir(inner);
}

/** Returns true if `.ralph-runner` exists. Throws `refused` if it is no directory. */
export function hasRunDir(files: RunFiles): boolean {
  return isRealDir(files.dir);
}

/** Returns true if a directory exists. Throws `refused` for anything else at its path. */
export function isRealDir(path: string): boolean {
  const lies = whatLies(path);
  if (lies === 'nothing' || lies === 'directory') return lies === 'directory';
  throw notItsOwn(path, 'directory');
}

/** Throws `refused` for anything but a plain file at a path that is about to be written or read. */
export function refuseLink(path: string): void {
  const lies = whatLies(path);
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

export type TakenFlags = Readonly<Record<'stop' | 'cancel', boolean>>;

/** Reads the flag files of a task folder and removes them: each counts once. A new run ignores those of an earlier one. */
export function takeFlags(files: RunFiles): TakenFlags {
  if (!hasRunDir(files)) return { stop: false, cancel: false };
  return { stop: take(files.stopFlag), cancel: take(files.cancelFlag) };
}

/** A link is removed as itself; a directory is no flag. */
function take(path: string): boolean {
  const lies = whatLies(path);
  if (lies === 'nothing' || lies === 'directory') return false;
  removeIfThere(path);
  return true;
}
