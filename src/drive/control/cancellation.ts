import { existsSync } from 'node:fs';
import type { LoopState } from '../../engine/schema/state.ts';
import { readRecord, removeIfThere } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { DriverContext } from './ownership.ts';

export function isCancelled({ env, files, input }: DriverContext): boolean {
  // Checked first, because an exception would be the slowest way to find out.
  if (!existsSync(files.cancellation)) return false;
  const marked = readRecord<LoopState>(files.cancellation);
  if (marked === null) return false;
  return marked.sessionId === input.sessionId || (marked.sessionId === null && marked.loopId === env['RALPH_LOOP_ID']);
}

/** Removes the marker: the turn has ended or the user has spoken, so what follows does not belong to the cancelled loop. */
export function clearCancellation(files: LoopFiles): void {
  removeIfThere(files.cancellation);
}
