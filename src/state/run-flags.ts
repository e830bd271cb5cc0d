import { removeIfThere } from './remove-if-there.ts';
import { hasRunDir, makeRunDir, type RunFiles, whatLies } from './run-files.ts';
import { writeAtomically } from './write-atomically.ts';

/** What somebody has asked for by a flag file in a task folder's `.ralph-runner`. */
export interface TakenFlags {
  readonly stop: boolean;
  readonly cancel: boolean;
}

/** Asks the run in a task folder to stop after its iteration, or to end now. Throws as the rest of the run state does. */
export function raiseFlag(files: RunFiles, which: keyof TakenFlags, at: string): void {
  makeRunDir(files);
  writeAtomically(flagPath(files, which), `${at}\n`);
}

/** Reads the flags and removes them: each is heard once. A new run takes those of an earlier one first and ignores them. */
export function takeFlags(files: RunFiles): TakenFlags {
  if (!hasRunDir(files)) return { stop: false, cancel: false };
  return { stop: take(flagPath(files, 'stop')), cancel: take(flagPath(files, 'cancel')) };
}

function flagPath(files: RunFiles, which: keyof TakenFlags): string {
  return which === 'stop' ? files.stopFlag : files.cancelFlag;
}

/** A link is removed as itself; a directory in a flag's place is none. */
function take(path: string): boolean {
  const lies = whatLies(path);
  if (lies === 'nothing' || lies === 'directory') return false;
  removeIfThere(path);
  return true;
}
