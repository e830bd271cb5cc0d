import type { LoopFiles } from '../loop-files.ts';
import { type FileSet, listFiles, MOST_ENTRIES } from './list-files.ts';
import { readLook, stampOf } from './look.ts';
import { contentOf, type FileChange, lookPath, type Snapshot } from './snapshot.ts';
import { isPlaceholder, isSameVersion, statAt, type Version, versionAt } from './version.ts';

export interface ExamineOptions {
  /** Watched files according to the current contract, including new ones. */
  readonly protect: FileSet;
  /**
   * `stamps` reads only files whose stamp has changed since the last examination; `all` compares the stamp of every file and
   * lists every folder; `content` hashes every file except the program's own, two copies of several megabytes.
   */
  readonly depth: 'stamps' | 'all' | 'content';
  /** Returns whether two versions of a file agree in everything that is protected. */
  readonly isSame?: (path: string, before: Buffer | null, after: Buffer | null) => boolean;
  /** Paths where the client's sandbox may put a placeholder, present while a command of the agent runs. */
  readonly placeholders?: ReadonlySet<string>;
}

export interface Examined {
  readonly changes: readonly FileChange[];
  /** Changed files that agree in everything that is protected. */
  readonly same: readonly string[];
  readonly snapshot: Snapshot;
}

/** Compares the disk with the snapshot. The caller holds the lock. Replaced folders come first. */
export function examine(files: LoopFiles, snapshot: Snapshot, options: ExamineOptions): Examined {
  const programs = new Set(snapshot.own.filter((path) => path.endsWith('.cjs')));
  const isUnchanged = unchangedSince(files, options.depth, programs);
  const replaced = replacedFolders(snapshot);
  const isBelowReplaced = (path: string): boolean => replaced.some((folder) => path.startsWith(`${folder}/`));
  const mayBeShown = (path: string): boolean => options.placeholders?.has(path) === true;
  /** A placeholder counts as a missing file: a client shows and removes it at any moment. */
  const real = (path: string, version: Version | null): Version | null =>
    mayBeShown(path) && isPlaceholder(version) ? null : version;
  const changes: FileChange[] = replaced.map((path) => ({ path, was: 'new' }));
  const same: string[] = [];
  for (const [path, kept] of Object.entries(snapshot.files)) {
    const base = real(path, kept);
    if (isBelowReplaced(path)) {
      if (base !== null) changes.push({ path, was: 'deleted' });
      continue;
    }
    if (isUnchanged(path)) continue;
    const now = real(path, versionAt(path, undefined, base));
    if (isSameVersion(base, now)) continue;
    if (saysTheSame(files, snapshot, path, now, options)) same.push(path);
    else changes.push({ path, was: now === null ? 'deleted' : base === null ? 'new' : 'changed' });
  }
  const known = new Set(snapshot.folders.filter((path) => !isBelowReplaced(path)));
  const roots = [...known].filter((path) => !replaced.includes(path) && !isUnchanged(path));
  const found = listFiles({ ...options.protect, roots }, known, MOST_ENTRIES);
  for (const path of found.files) {
    const isNew = snapshot.files[path] === undefined && !replaced.includes(path);
    if (isNew && !(mayBeShown(path) && real(path, versionAt(path)) === null)) changes.push({ path, was: 'new' });
  }
  const folders = [...new Set([...known, ...found.folders])].sort();
  return { changes, same, snapshot: { ...snapshot, folders } };
}

/** Returns the folders of the last examination that are now something else, such as a link; only the topmost ones. */
function replacedFolders({ folders, files }: Snapshot): string[] {
  const holders = new Set<string>();
  for (const [path, base] of Object.entries(files)) {
    if (base === null) continue;
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      const folder = path.slice(0, end);
      if (holders.has(folder)) break;
      holders.add(folder);
    }
  }
  const found: string[] = [];
  for (const path of [...folders].sort()) {
    if (!holders.has(path) || found.some((other) => path.startsWith(`${other}/`))) continue;
    const stat = statAt(path);
    if (stat !== null && !stat.isDirectory()) found.push(path);
  }
  return found;
}

function unchangedSince(
  files: LoopFiles,
  depth: ExamineOptions['depth'],
  programs: ReadonlySet<string>,
): (path: string) => boolean {
  const look = readLook(lookPath(files));
  if (look === null) return () => false;
  const known = new Map(look.paths.map((path, index) => [path, [...look.stamps.subarray(3 * index, 3 * index + 3)]]));
  const now = Date.now();
  return (path) => {
    if (depth === 'content' && !programs.has(path)) return false;
    const stat = statAt(path);
    if (depth === 'all' && stat?.isDirectory() === true) return false;
    const stamp = stampOf(stat, now);
    return known.get(path)?.every((figure, index) => figure === stamp[index]) === true;
  };
}

function saysTheSame(
  files: LoopFiles,
  snapshot: Snapshot,
  path: string,
  now: Version | null,
  { isSame }: ExamineOptions,
): boolean {
  const base = snapshot.files[path] ?? null;
  // A settings file is small: one that has grown beyond 4 MiB is not read.
  const isText = (each: Version | null): boolean => each === null || (each.kind === 'file' && each.size <= 2 ** 22);
  if (isSame === undefined || ![base, now].every(isText)) return false;
  const chunks: Buffer[] = [];
  const after = now && versionAt(path, (bytes) => void chunks.push(bytes)) && Buffer.concat(chunks);
  const before = base && contentOf(files, snapshot, base);
  if (base !== null && before === null) return false;
  return isSame(path, before, after);
}
