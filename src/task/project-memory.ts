import { statSync } from 'node:fs';
import { join } from 'node:path';
import { countEntries, type MemoryFile } from '../engine/prompt/memory.ts';
import { ifOutOfReach, readRegularFile } from '../state/files/regular-file.ts';
import { DECISIONS, LEARNINGS } from './task-file.ts';

/** Size above which entries are not counted. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Returns the memory that earlier loops left in a project. Throws errors of a failing disk. */
export function projectMemory(projectDir: string): MemoryFile[] {
  return [LEARNINGS, DECISIONS].flatMap((path): MemoryFile[] => {
    const file = join(projectDir, path);
    const text = readRegularFile(file, MAX_BYTES);
    if (text !== null) return [{ path, entries: countEntries(text) }];
    // Too large or inaccessible.
    return ifOutOfReach(() => statSync(file).isFile(), false) ? [{ path, entries: null }] : [];
  });
}
