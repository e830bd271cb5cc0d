import { lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { RalphError } from '../../text/ralph-error.ts';
import { removeIfThere } from '../files/read-regular-file.ts';
import { writeAtomically } from '../files/write-atomically.ts';

/** Where the run state of a task folder lies. All paths are absolute. */
export interface RunFiles {
  readonly taskDir: string;
  /** `.ralph-runner` of the task folder. */
  readonly dir: string;
  readonly status: string;
  readonly iterations: string;
  readonly events: string;
  readonly transcriptsDir: string;
  readonly activeDir: string;
  readonly stopFlag: string;
  readonly cancelFlag: string;
  /** Where `archive` moves `dir` to, under a name of its own. */
  readonly archiveDir: string;
}

/** The run state's files of a task folder. Touches nothing. */
export function runFiles(taskDir: string): RunFiles {
  const dir = join(taskDir, '.ralph-runner');
  return {
    taskDir,
    dir,
    status: join(dir, 'status.json'),
    iterations: join(dir, 'iterations.jsonl'),
    events: join(dir, 'events.jsonl'),
    transcriptsDir: join(dir, 'transcripts'),
    activeDir: join(dir, 'active-loops'),
    stopFlag: join(dir, 'stop.flag'),
    cancelFlag: join(dir, 'cancel.flag'),
    archiveDir: join(taskDir, '.ralph-runner-archive'),
  };
}

/** What lies at a path of the run state, symbolic links not followed. */
export type Lies = 'nothing' | 'file' | 'directory' | 'other';

export function whatLies(path: string): Lies {
  const there = lstatSync(path, { throwIfNoEntry: false });
  if (there === undefined) return 'nothing';
  return there.isFile() ? 'file' : there.isDirectory() ? 'directory' : 'other';
}

/**
 * Makes `.ralph-runner`, and a folder within it where one is named. Throws `refused` where something else lies in
 * the place of either: through a symbolic link the run state would leave the task folder.
 */
export function makeRunDir(files: RunFiles, inner?: string): void {
  if (makeRealDir(files.dir)) writeAtomically(join(files.dir, '.gitignore'), '*\n');
  if (inner !== undefined) makeRealDir(inner);
}

/** Whether `.ralph-runner` is there. Throws `refused` where it is no directory of its own. */
export function hasRunDir(files: RunFiles): boolean {
  return isRealDir(files.dir);
}

/** The same for any directory of the run state. */
export function isRealDir(path: string): boolean {
  const lies = whatLies(path);
  if (lies === 'nothing' || lies === 'directory') return lies === 'directory';
  throw notItsOwn(path, 'directory');
}

/** Throws `refused` where anything but a plain file lies at a path that is about to be written or read. */
export function refuseLink(path: string): void {
  const lies = whatLies(path);
  if (lies !== 'nothing' && lies !== 'file') throw notItsOwn(path, 'file');
}

/** Makes a directory that is no link. true when it was made now. */
export function makeRealDir(path: string): boolean {
  if (isRealDir(path)) return false;
  mkdirSync(path, { recursive: true });
  return true;
}

function notItsOwn(path: string, what: 'file' | 'directory'): RalphError {
  return new RalphError(
    'refused',
    `${path} is no ${what} of its own: run state is neither written nor read through a link. Move it away.`,
  );
}

/** What somebody has asked for by a flag file in a task folder's `.ralph-runner`. */
export interface TakenFlags {
  readonly stop: boolean;
  readonly cancel: boolean;
}

/** Reads the flags and removes them: each is heard once. A new run takes those of an earlier one first and ignores them. */
export function takeFlags(files: RunFiles): TakenFlags {
  if (!hasRunDir(files)) return { stop: false, cancel: false };
  return { stop: take(files.stopFlag), cancel: take(files.cancelFlag) };
}

/** A link is removed as itself; a directory in a flag's place is none. */
function take(path: string): boolean {
  const lies = whatLies(path);
  if (lies === 'nothing' || lies === 'directory') return false;
  removeIfThere(path);
  return true;
}
