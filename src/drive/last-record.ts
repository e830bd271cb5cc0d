import type { IterationRecord } from '../core/schema/records.ts';
import type { LoopFiles } from '../state/loop-files.ts';
import { readTail } from '../state/read-tail.ts';

const TAIL_BYTES = 64 * 1024;

/** The newest iteration record of this loop, or null when its journal holds none. */
export function lastRecord(files: LoopFiles, loopId: string): IterationRecord | null {
  let found: IterationRecord | null = null;
  readTail(files.iterations, TAIL_BYTES, (line) => {
    try {
      const record = JSON.parse(line) as IterationRecord;
      if (record?.loopId === loopId && Number.isInteger(record.iteration)) found = record;
    } catch {
      // a torn line of a process that died
    }
    return found !== null;
  });
  return found;
}
