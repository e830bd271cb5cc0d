import { removeIfThere } from './remove-if-there.ts';
import { hasRunDir, type RunFiles, whatLies } from './run-files.ts';

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
