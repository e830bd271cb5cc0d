import { lstatSync, mkdirSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { LoopState } from '../engine/schema/state.ts';
import { syncDirectory, writeAtomically } from './files/write-atomically.ts';
import type { LoopFiles } from './loop-files.ts';
import { type ReadState, readState } from './read-state.ts';
import { serialise } from './with-state.ts';

/**
 * Writes the whole state into the archive and gives back its path. Called under the lock, with the state as it stands
 * on disk and its own time of ending, before the state file is removed: a crash in between leaves both, and the next
 * comer finds an ended state and archives it under the same name.
 */
export function archiveState(files: LoopFiles, state: LoopState, at: string, label: string): string {
  mkdirSync(files.archiveDir, { recursive: true });
  const content = serialise(state);
  for (let copy = 1; ; copy++) {
    const path = join(files.archiveDir, archiveName(at, label, copy));
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (there === undefined) {
      writeAtomically(path, content);
      return path;
    }
    if (there.isFile() && readFileSync(path, 'utf8') === content) return path;
  }
}

/** Moves a state file that cannot be used aside, whole, and gives back where it went. Called under the lock. */
export function quarantine(files: LoopFiles, at: string, label: 'corrupt' | 'tampered'): string {
  mkdirSync(files.archiveDir, { recursive: true });
  for (let copy = 1; ; copy++) {
    const path = join(files.archiveDir, archiveName(at, label, copy));
    if (lstatSync(path, { throwIfNoEntry: false }) !== undefined) continue;
    renameSync(files.state, path);
    syncDirectory(files.archiveDir);
    syncDirectory(files.runtimeDir);
    return path;
  }
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
    .map((file) => ({ file, age: orderOf(file) }))
    .filter(({ age }) => age !== '')
    .sort((a, b) => (a.age < b.age ? -1 : 1))
    .map(({ file }) => {
      const path = join(files.archiveDir, file);
      return { path, file, content: readState(path) };
    });
}

function archiveName(at: string, label: string, copy: number): string {
  return `${at.replaceAll(':', '-')}-${label}${copy === 1 ? '' : `.${copy}`}.json`;
}

/** Sorts names by instant and copy; '' for a name that is none of ours. As text `.5Z` stands before `Z`, `.2` before `.json`. */
function orderOf(name: string): string {
  const [, instant, fraction = '', copy = '1'] =
    /^(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)(?:\.(\d+))?Z-.*?(?:\.(\d+))?\.json$/.exec(name) ?? [];
  return instant === undefined ? '' : `${instant}.${fraction.padEnd(9, '0')} ${copy.padStart(9, '0')} ${name}`;
}
