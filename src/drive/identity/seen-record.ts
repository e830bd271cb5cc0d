import shapes from '../../../.build/record-shapes.json' with { type: 'json' };
import { compareItems } from '../../engine/identity/items.ts';
import type { Seen } from '../../engine/schema/seen.ts';
import { checkShape } from '../../state/check-shape.ts';
import { readRecord, writeRecord } from '../../state/files/regular-file.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import type { ChecklistItem } from '../../text/markdown/checklist.ts';

/** Returns what the loop has seen; nothing for a loop that an older version started. */
export function readSeen(files: LoopFiles, loopId: string): Seen {
  const seen = readRecord<Seen>(files.seen);
  return checkShape(seen, shapes.seen) === null && seen?.loopId === loopId ? (seen as Seen) : { loopId, items: [] };
}

/** Begins the record anew, with the items of a checklist as they are now. */
export function beginSeen(files: LoopFiles, loopId: string, items: readonly ChecklistItem[]): void {
  writeSeen(files, { loopId, items: [...compareItems([], items).known] });
}

/** Replaces the record. Called under the lock of the loop's state. */
export function writeSeen(files: LoopFiles, seen: Seen): void {
  writeRecord(files.seen, seen);
}
