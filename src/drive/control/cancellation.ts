import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import type { LoopState } from '../../engine/schema/state.ts';
import { regularFile, removeIfThere } from '../../state/files/read-regular-file.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { DriverContext } from '../turn/ownership.ts';

/** Marks a cancelled loop for the session that still works on it: its next tool call is denied and its turn ends. */
export function markCancelled(files: LoopFiles, state: LoopState): void {
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  const { loopId, sessionId } = state;
  writeAtomically(files.cancellation, `${JSON.stringify({ loopId, sessionId })}\n`, 0o600);
}

export function isCancelled({ env, files, input }: DriverContext): boolean {
  // Checked first, since an exception would be the slowest way to find out.
  if (!existsSync(files.cancellation)) return false;
  try {
    const { loopId, sessionId } = JSON.parse(readFileSync(regularFile(files.cancellation), 'utf8')) as Record<
      string,
      unknown
    >;
    return sessionId === input.sessionId || (sessionId === null && loopId === env['RALPH_LOOP_ID']);
  } catch {
    return false; // unreadable
  }
}

/** Removes the marker: the turn has ended or the user has spoken, so what follows is not the cancelled loop’s. */
export function clearCancellation(files: LoopFiles): void {
  removeIfThere(files.cancellation);
}
