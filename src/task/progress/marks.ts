import { isSameMark, type Marked } from './file-marks.ts';

/** Files with their marks, and what bounded the look at them. */
export interface Marks {
  /** By path relative to the project. */
  readonly files: Readonly<Record<string, string>>;
  /** false where some were left out or could not be read: then a path that is not here proves nothing. */
  readonly complete: boolean;
  /** Names of the bounds that were hit. */
  readonly limits: readonly string[];
}

/** Collects marks; `part` begins the names of the bounds. */
export function marksBuilder(part: 'task' | 'git'): {
  readonly add: (path: string, marked: Marked) => void;
  /** Something could not be looked at. */
  readonly miss: (limit: string) => void;
  readonly count: () => number;
  readonly build: () => Marks;
} {
  const files: Record<string, string> = Object.create(null);
  const limits = new Set<string>();
  let complete = true;
  let count = 0;
  const miss = (limit: string): void => {
    complete = false;
    limits.add(`${part}-${limit}`);
  };
  return {
    add: (path, marked) => {
      count += 1;
      if (marked.kind === 'unreadable') miss('unreadable');
      else files[path] = marked.kind === 'mark' ? marked.mark : 'absent';
      if (marked.kind === 'mark' && marked.limited) limits.add(`${part}-bytes`);
    },
    miss,
    count: () => count,
    build: () => ({ files: { ...files }, complete, limits: [...limits].toSorted() }),
  };
}

/** The paths that differ, and whether every difference would have been seen. */
export function compareMarks(before: Marks, after: Marks): { readonly changed: string[]; readonly known: boolean } {
  const changed: string[] = [];
  for (const [path, mark] of Object.entries(before.files)) {
    const now = Object.hasOwn(after.files, path) ? after.files[path] : undefined;
    if (now === undefined ? after.complete : !isSameMark(mark, now)) changed.push(path);
  }
  for (const path of Object.keys(after.files)) {
    if (before.complete && !Object.hasOwn(before.files, path)) changed.push(path);
  }
  return { changed, known: before.complete && after.complete };
}
