import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { LoopState } from '../core/schema/state.ts';
import type { LoopFiles } from './loop-files.ts';
import { parseState, type ReadState } from './read-state.ts';
import { serialise } from './with-state.ts';
import { syncDirectory, writeAtomically } from './write-atomically.ts';

/**
 * Writes the whole state into the archive and gives back its path. Called under the lock, before the state file is
 * removed: a crash in between leaves both, and the next comer finds an ended state and archives it under the same name.
 */
export function archiveState(files: LoopFiles, state: LoopState, at: string, label: string): string {
  mkdirSync(files.archiveDir, { recursive: true });
  const path = join(files.archiveDir, archiveName(at, label));
  const content = serialise(state);
  if (existsSync(path) && readFileSync(path, 'utf8') === content) return path;
  const free = unusedName(path);
  writeAtomically(free, content);
  return free;
}

/** Moves a state file that cannot be used aside, whole, and gives back where it went. Called under the lock. */
export function quarantine(files: LoopFiles, at: string, label: 'corrupt' | 'tampered'): string {
  mkdirSync(files.archiveDir, { recursive: true });
  const path = unusedName(join(files.archiveDir, archiveName(at, label)));
  renameSync(files.state, path);
  syncDirectory(files.archiveDir);
  return path;
}

export interface ArchivedLoop {
  readonly path: string;
  readonly file: string;
  readonly content: ReadState;
}

/** The archived states, newest last. Files that are none of ours are passed over. */
export function listArchive(files: LoopFiles): ArchivedLoop[] {
  let names: string[];
  try {
    names = readdirSync(files.archiveDir);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
  return names
    .filter((name) => /^\d{4}-\d\d-\d\dT.*\.json$/.test(name))
    .sort()
    .map((file) => {
      const path = join(files.archiveDir, file);
      return { path, file, content: parseState(readFileSync(path, 'utf8')) };
    });
}

function archiveName(at: string, label: string): string {
  return `${at.replaceAll(':', '-')}-${label}.json`;
}

function unusedName(path: string): string {
  let candidate = path;
  for (let copy = 2; existsSync(candidate); copy++) candidate = path.replace(/\.json$/, `.${copy}.json`);
  return candidate;
}
