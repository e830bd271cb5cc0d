import { createHash } from 'node:crypto';
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from 'node:fs';
import { isAbsolute, join, relative, sep } from 'node:path';
import { commitMark } from '../git/commit-mark.ts';
import { isLeftOut, isLeftOutFolder } from './left-out.ts';

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

/** How much one snapshot reads. Beyond that a file is known by its size and its time. */
export interface ReadBudget {
  files: number;
  bytes: number;
}

/** A larger file is known by its size and its time. */
const MAX_FILE_BYTES = 5 * 1024 * 1024;
/** A FIFO that took a file's place since the look must not hold us up, nor a link lead us away. */
const READ_PLAIN = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

export type Marked =
  /** `limited`: not read, for want of budget. */
  | { readonly kind: 'mark'; readonly mark: string; readonly limited: boolean }
  | { readonly kind: 'absent' | 'unreadable' };

/**
 * What tells whether a file has changed: its kind, size and time, and a hash of its content where it was read. A link
 * stands for itself, a folder for the repository in it. Never throws, and never waits for anybody.
 */
export function markFile(path: string, budget: ReadBudget): Marked {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return { kind: 'absent' };
    if (stat.isSymbolicLink()) return marked('link', stat, hashOf(readlinkSync(path)));
    if (stat.isDirectory()) return { kind: 'mark', mark: `repository ${commitMark(path)}`, limited: false };
    if (!stat.isFile()) return { kind: 'mark', mark: 'special', limited: false };
    const kind = (stat.mode & 0o111) === 0 ? 'file' : 'program';
    const limited = budget.files <= 0 || budget.bytes < stat.size;
    if (limited || stat.size > MAX_FILE_BYTES) return marked(kind, stat, '', limited && stat.size <= MAX_FILE_BYTES);
    budget.files -= 1;
    budget.bytes -= stat.size;
    return marked(kind, stat, hashOf(readPlain(path)));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { kind: code === 'ENOENT' || code === 'ENOTDIR' ? 'absent' : 'unreadable' };
  }
}

/** Whether two marks are of the same content. Where only one of them was read, size and time decide. */
export function isSameMark(one: string, other: string): boolean {
  if (one === other) return true;
  const [kind, size, time, hash = ''] = one.split(' ');
  const [otherKind, otherSize, otherTime, otherHash = ''] = other.split(' ');
  if (kind !== otherKind) return false;
  return hash !== '' && otherHash !== '' ? hash === otherHash : size === otherSize && time === otherTime;
}

function marked(kind: string, { size, mtimeMs }: Stats, hash: string, limited = false): Marked {
  return { kind: 'mark', mark: `${kind} ${size} ${mtimeMs} ${hash}`, limited };
}

function hashOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('base64url').slice(0, 22);
}

function readPlain(path: string): Buffer {
  const descriptor = openSync(path, READ_PLAIN);
  try {
    if (!fstatSync(descriptor).isFile()) throw new Error(`${path} is no file any more`);
    return readFileSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

export interface FolderLimits {
  /** Files and folders that are looked at. */
  readonly entries: number;
  /** Read at most, of all files together. */
  readonly bytes: number;
  /** After this nothing more is looked at, but for the first hundred files and folders. */
  readonly timeMs: number;
}

/** So many are looked at however late it is: only other programs can hold so few up. */
const LEAST_ENTRIES = 100;

export const FOLDER_LIMITS: FolderLimits = { entries: 2_000, bytes: 16 * 1024 * 1024, timeMs: 150 };

/**
 * The marks of a task folder's files, without what tools make and what is the loop's own. `taskDir` is relative to the
 * project, '' is the project itself. Follows no link; a folder that really lies outside the project is not looked at.
 * Never throws.
 */
export function markFolder(projectDir: string, taskDir: string, limits: FolderLimits = FOLDER_LIMITS): Marks {
  const found = marksBuilder('task');
  const budget: ReadBudget = { files: limits.entries, bytes: limits.bytes };
  const deadline = performance.now() + limits.timeMs;
  const folders = [taskDir];
  let left = limits.entries;
  if (!isInside(projectDir, join(projectDir, taskDir))) {
    found.miss('outside');
    return found.build();
  }
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesOf(join(projectDir, folder), found.miss)) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory() ? isLeftOutFolder(entry.name) : isLeftOut(path, taskDir)) continue;
      left -= 1;
      const isLate = limits.entries - left > LEAST_ENTRIES && performance.now() > deadline;
      if (left < 0 || isLate) {
        found.miss(left < 0 ? 'files' : 'time');
        return found.build();
      }
      if (entry.isDirectory()) folders.push(path);
      else found.add(path, markFile(join(projectDir, path), budget));
    }
  }
  return found.build();
}

/** In a fixed order, so that a bound cuts the same files each time. */
function entriesOf(folder: string, miss: (limit: string) => void): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') miss('unreadable');
    return [];
  }
}

function isInside(projectDir: string, folder: string): boolean {
  try {
    const inside = relative(realpathSync(projectDir), realpathSync(folder));
    return !isAbsolute(inside) && inside !== '..' && !inside.startsWith(`..${sep}`);
  } catch {
    return true; // gone: that it holds nothing is what there is to see
  }
}
