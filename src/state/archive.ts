import { lstatSync, mkdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import type { LoopState } from '../engine/schema/state.ts';
import { freePath, namesIn, syncDirectory, writeAtomically } from './files/regular-file.ts';
import { type LoopFiles, type ReadState, readState } from './loop-files.ts';
import { serialise } from './with-state.ts';

/** Writes an ended state into the archive and returns its path. Called under the lock; idempotent after a crash. */
export function archiveState(files: LoopFiles, state: LoopState, at: string, label: string): string {
  mkdirSync(files.archiveDir, { recursive: true });
  const content = serialise(state);
  for (let copy = 1; ; copy++) {
    const path = `${archiveStem(files, at, label)}${copy === 1 ? '' : `.${copy}`}.json`;
    const there = lstatSync(path, { throwIfNoEntry: false });
    if (there === undefined) {
      writeAtomically(path, content);
      return path;
    }
    if (there.isFile() && readFileSync(path, 'utf8') === content) return path;
  }
}

/** Moves a state file that cannot be used into the archive and returns its new path. Called under the lock. */
export function quarantine(files: LoopFiles, at: string, label: 'corrupt' | 'tampered'): string {
  mkdirSync(files.archiveDir, { recursive: true });
  const path = freePath(archiveStem(files, at, label), '.json');
  renameSync(files.state, path);
  syncDirectory(files.archiveDir);
  syncDirectory(files.runtimeDir);
  return path;
}

/** Lists the archived states, or only the `most` newest, newest last, without files of other programs. */
export function listArchive(files: LoopFiles, most?: number): { path: string; file: string; content: ReadState }[] {
  return archivedFiles(files)
    .slice(most === undefined ? 0 : -most)
    .map((file) => {
      const path = join(files.archiveDir, file);
      return { path, file, content: readState(path) };
    });
}

/** Returns the loop that was archived last, and the name of its file; null if none can be read. */
export function lastArchived(files: LoopFiles): { readonly state: LoopState; readonly file: string } | null {
  for (const file of archivedFiles(files).reverse()) {
    const content = readState(join(files.archiveDir, file));
    if (content.kind === 'loop') return { state: content.state, file };
  }
  return null;
}

/** Names the files in the archive, newest last. */
function archivedFiles({ archiveDir }: LoopFiles): string[] {
  return namesIn(archiveDir)
    .map((file) => ({ file, age: orderOf(file) }))
    .filter(({ age }) => age !== '')
    .sort((a, b) => (a.age < b.age ? -1 : 1))
    .map(({ file }) => file);
}

/** Changes the archived state of a loop that has ended, for what became known later. Called under the lock. */
export function amendArchived(files: LoopFiles, loopId: string, change: (ended: LoopState) => LoopState): boolean {
  for (const { path, content } of listArchive(files).reverse()) {
    if (content.kind !== 'loop' || content.state.loopId !== loopId || content.state.status !== 'ended') continue;
    writeAtomically(path, serialise(change(content.state)));
    return true;
  }
  return false;
}

function archiveStem({ archiveDir }: LoopFiles, at: string, label: string): string {
  return join(archiveDir, `${at.replaceAll(':', '-')}-${label}`);
}

/** Sort key of a name by instant and copy, as text order differs; '' for a file of another program. */
function orderOf(name: string): string {
  const [, instant, fraction = '', copy = '1'] =
    /^(\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)(?:\.(\d+))?Z-.*?(?:\.(\d+))?\.json$/.exec(name) ?? [];
  return instant === undefined ? '' : `${instant}.${fraction.padEnd(9, '0')} ${copy.padStart(9, '0')} ${name}`;
}
