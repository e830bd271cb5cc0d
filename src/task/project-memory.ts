import { join } from 'node:path';
import type { MemoryFile } from '../core/memory-text.ts';
import { countEntries } from '../core/memory-text.ts';
import { readRegularFile } from '../state/read-regular-file.ts';
import { DECISIONS, LEARNINGS } from './memory-files.ts';

/** Longer ones are named, and their entries not counted. */
const MAX_BYTES = 4 * 1024 * 1024;

/** The memory that earlier loops and their agents have left in a project, with how much each file holds. Never throws. */
export function projectMemory(projectDir: string): MemoryFile[] {
  return [LEARNINGS, DECISIONS].flatMap((path) => {
    const text = readRegularFile(join(projectDir, path), MAX_BYTES);
    return text === null ? [] : [{ path, entries: countEntries(text) }];
  });
}
