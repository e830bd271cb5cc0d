import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { MemoryFile } from '../core/memory-text.ts';
import { countEntries } from '../core/memory-text.ts';
import { readRegularFile } from '../state/read-regular-file.ts';
import { DECISIONS, LEARNINGS } from './memory-files.ts';

/** Longer ones are named, and their entries not counted. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The memory that earlier loops and their agents have left in a project, with how much each file holds. Never throws. */
export function projectMemory(projectDir: string): MemoryFile[] {
  return [LEARNINGS, DECISIONS].flatMap((path): MemoryFile[] => {
    const file = join(projectDir, path);
    const text = readRegularFile(file, MAX_BYTES);
    if (text !== null) return [{ path, entries: countEntries(text) }];
    return isTooLong(file) ? [{ path, entries: null }] : [];
  });
}

function isTooLong(path: string): boolean {
  try {
    const stat = statSync(path);
    return stat.isFile() && stat.size > MAX_BYTES;
  } catch {
    return false; // nothing lies there, or nothing that we may look at
  }
}
