import type { IterationRecord } from '../core/schema/records.ts';
import { lastEntry } from '../state/last-entry.ts';
import type { LoopFiles } from '../state/loop-files.ts';

const TAIL_BYTES = 64 * 1024;

/** The newest iteration record of this loop, or null when its journal holds none. */
export function lastRecord(files: LoopFiles, loopId: string): IterationRecord | null {
  return lastEntry(files.iterations, TAIL_BYTES, loopId) as IterationRecord | null;
}
