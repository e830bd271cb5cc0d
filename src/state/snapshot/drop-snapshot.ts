import { basename, join } from 'node:path';
import { namesIn, removeIfThere } from '../files/regular-file.ts';
import type { LoopFiles } from '../loop-files.ts';

/** Removes the snapshot of an ended loop, because it may contain secrets. */
export function dropSnapshot(files: LoopFiles): void {
  for (const end of ['json', 'look', 'restoring']) removeIfThere(`${files.snapshot}.${end}`);
  removePacks(files, null);
}

/** Returns the prefix of a loop's packs; a loop's own name never has a plus sign. */
export const packPrefix = (snapshot: string): string => `${basename(snapshot)}+pack-`;

/** Removes the packs of former snapshots of these files, except `kept`. */
export function removePacks({ outsideDir, snapshot }: LoopFiles, kept: string | null): void {
  const prefix = packPrefix(snapshot);
  for (const name of namesIn(outsideDir)) {
    if (name.startsWith(prefix) && name !== kept) removeIfThere(join(outsideDir, name));
  }
}
