import { createHash } from 'node:crypto';
import type { Dirent, Stats } from 'node:fs';
import { fstatSync, lstatSync, readdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Marks } from '../../engine/schema/records.ts';
import { ifOutOfReach, READ_PLAIN, readRegularFile, withDescriptor } from '../../state/files/regular-file.ts';
import { isLeftOut, isLeftOutFolder } from '../left-out.ts';
import { isWithin } from '../project-file.ts';

/** Collects marks; `part` prefixes the names of the limits. */
function marksBuilder(part: 'task' | 'git') {
  const files: Record<string, string> = Object.create(null);
  const limits = new Set<string>();
  let complete = true;
  let count = 0;
  const miss = (limit: string): void => {
    complete = false;
    limits.add(`${part}-${limit}`);
  };
  return {
    add: (path: string, marked: Marked): void => {
      count += 1;
      if (marked.kind === 'unreadable') miss('unreadable');
      else files[path] = marked.kind === 'mark' ? marked.mark : 'absent';
      if (marked.kind === 'mark' && marked.limited) limits.add(`${part}-bytes`);
    },
    miss,
    count: () => count,
    build: (): Marks => ({ files: { ...files }, complete, limits: [...limits].toSorted() }),
  };
}

/** Compares marks; `known`: every difference would have been found. */
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

/** What is left to read; files beyond it are compared by size and time only. */
export interface ReadBudget {
  files: number;
  bytes: number;
}

/** Size above which files are compared by size and time only. */
const MAX_FILE_BYTES = 5 * 1024 * 1024;

type Marked =
  /** `limited`: not read because the budget was used up. */
  | { readonly kind: 'mark'; readonly mark: string; readonly limited: boolean }
  | { readonly kind: 'absent' | 'unreadable' };

/** Returns the mark of a file; links are not followed, and a folder counts as a repository. Never throws, never blocks. */
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

/** Compares contents or, if only one was read, size and time. */
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
  return withDescriptor(path, READ_PLAIN, 0, (descriptor) => {
    if (!fstatSync(descriptor).isFile()) throw new Error(`${path} is no longer a file`);
    return readFileSync(descriptor);
  });
}

export interface FolderLimits {
  readonly entries: number;
  readonly bytes: number;
  /** Time limit that applies after the first hundred files and folders. */
  readonly timeMs: number;
}

const LEAST_ENTRIES = 100;

/** Returns a time that clock changes do not affect. `performance` would load twelve modules of node. */
export function monotonicMs(): number {
  return process.uptime() * 1000;
}

export const FOLDER_LIMITS: FolderLimits = { entries: 2_000, bytes: 16 * 1024 * 1024, timeMs: 500 };

/** Marks the files of a folder, without generated and own files. Follows no link out of the project. Never throws. */
export function markFolder(projectDir: string, taskDir: string, limits: FolderLimits = FOLDER_LIMITS): Marks {
  const found = marksBuilder('task');
  const budget: ReadBudget = { files: limits.entries, bytes: limits.bytes };
  const deadline = monotonicMs() + limits.timeMs;
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
      const isLate = limits.entries - left > LEAST_ENTRIES && monotonicMs() > deadline;
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

export interface PathLimits {
  readonly files: number;
  /** Number of files whose contents are read. */
  readonly read: number;
  readonly bytes: number;
}

/** Marks the files that git names, up to `deadline` (see monotonicMs). Never throws. */
export function markPaths(projectDir: string, paths: readonly string[], limits: PathLimits, deadline: number): Marks {
  const found = marksBuilder('git');
  const budget: ReadBudget = { files: limits.read, bytes: limits.bytes };
  for (const path of paths.toSorted()) {
    if (found.count() >= limits.files || monotonicMs() > deadline) {
      found.miss(found.count() >= limits.files ? 'files' : 'time');
      break;
    }
    // A name that is not UTF-8 cannot be looked up.
    found.add(path, path.includes('\uFFFD') ? { kind: 'unreadable' } : markFile(join(projectDir, path), budget));
  }
  return found.build();
}

/** Returns sorted entries, so that a limit always cuts the same files. */
function entriesOf(folder: string, miss: (limit: string) => void): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') miss('unreadable');
    return [];
  }
}

function isInside(projectDir: string, folder: string): boolean {
  // The folder was removed; it counts as empty.
  return ifOutOfReach(() => isWithin(realpathSync(projectDir), realpathSync(folder)), true);
}

/** Returns size and time of git's log of HEAD, which changes with each commit; '' if there is none. */
export function commitMark(projectDir: string): string {
  const log = statSync(join(gitDir(projectDir), 'logs', 'HEAD'), { throwIfNoEntry: false });
  return log === undefined ? '' : `${log.size}:${log.mtimeMs}`;
}

/** Returns the git folder. In a worktree, `.git` is a file that names it. */
function gitDir(projectDir: string): string {
  const git = join(projectDir, '.git');
  const named = /^gitdir: (.+)$/m.exec(readRegularFile(git, 4096) ?? '')?.[1];
  return named === undefined ? git : resolve(projectDir, named.trim());
}
