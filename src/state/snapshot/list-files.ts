import type { Dirent } from 'node:fs';
import { ifOutOfReach } from '../files/regular-file.ts';
import { readFolder, statAt } from './version.ts';

/** Set of files: those below `roots` that `covers` accepts. All paths are absolute. */
export interface FileSet {
  readonly roots: readonly string[];
  readonly covers: (path: string) => boolean;
  /** Returns whether a folder is skipped; `names` are its entries. */
  readonly skips: (folder: string, names: readonly string[]) => boolean;
}

/** Names that tools give to the files and folders that they create in a project. */
const BY_TOOLS = new Set(
  '.git node_modules __pycache__ .pytest_cache .mypy_cache .ruff_cache .nyc_output .cache .DS_Store'.split(' '),
);

/** Limit for callers that check `cut`. */
export const MOST_ENTRIES = 200_000;

/**
 * Lists the files of a set, sorted; links count as files and are not followed. `known` folders are skipped. `folders`: those in
 * which another file of the set could appear, and roots that do not exist; `cut`: there were more than `most` entries.
 */
export function listFiles(
  { roots, covers, skips }: FileSet,
  known: ReadonlySet<string> = new Set(),
  most = Number.POSITIVE_INFINITY,
) {
  const files = new Set<string>();
  const folders = new Set<string>();
  const open = [...roots];
  let left = most;
  for (const path of open) {
    const stat = statAt(path);
    if (stat !== null && !stat.isDirectory()) {
      if (covers(path)) files.add(path);
      folders.add(path); // a root that is not a folder could become one
      continue;
    }
    if (folders.has(path)) continue;
    const entries = stat === null ? [] : entriesOf(path);
    const names = entries.map(({ name }) => name);
    if (skips(path, names)) continue;
    folders.add(path);
    for (const entry of entries) {
      left -= 1;
      if (left < 0) return { files: [...files].sort(), folders: [...folders].sort(), cut: true };
      if (BY_TOOLS.has(entry.name)) continue;
      const child = `${path === '/' ? '' : path}/${entry.name}`;
      if (!entry.isDirectory()) {
        if (covers(child)) files.add(child);
      } else if (!known.has(child)) open.push(child);
    }
  }
  return { files: [...files].sort(), folders: [...folders].sort(), cut: false };
}

function entriesOf(folder: string): Array<Pick<Dirent, 'name' | 'isDirectory'>> {
  return ifOutOfReach(() => readFolder(folder), []);
}
