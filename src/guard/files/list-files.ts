import { type Dirent, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';

/** Files and folders that are looked at for one use of a path, and for all uses of one call. */
const MAX_ENTRIES = 5000;
const MAX_IN_ALL = 20_000;
/** Number of entries that may still be read; negative if there were more. */
export interface Budget {
  /** For the current access. */
  left: number;
  /** For the whole call. */
  whole: number;
  /** Some use had more than it may have. */
  cut: boolean;
}

export function newBudget(): Budget {
  return { left: MAX_ENTRIES, whole: MAX_IN_ALL, cut: false };
}

/** The next use of a path has its own share again. */
export function renew(budget: Budget): void {
  budget.left = MAX_ENTRIES;
}

/** Returns whether the budget of the whole call is spent: nothing more is listed. */
export function isSpent(budget: Budget): boolean {
  return budget.whole < 0;
}

/** Takes one entry; false where there is nothing left to take it from. */
export function take(budget: Budget): boolean {
  budget.left -= 1;
  budget.whole -= 1;
  if (budget.left >= 0 && budget.whole >= 0) return true;
  budget.cut = true;
  return false;
}

/** Not the user's files: thousands of files that tools put there, among them test keys. */
const PASSED_OVER = new Set(['node_modules', '.git']);

/**
 * Lists everything below a directory, as paths relative to it; empty if it is not a directory. Symlinks are listed but
 * not followed.
 */
export function listBelow(directory: string, budget: Budget): string[] {
  if (PASSED_OVER.has(basename(directory))) return [];
  const found: string[] = [];
  const open = [''];
  for (let at = 0; at < open.length; at += 1) {
    const prefix = open[at] ?? '';
    for (const entry of readDirectory(`${directory}/${prefix}`)) {
      if (!take(budget)) return found;
      const path = `${prefix}${entry.name}`;
      found.push(path);
      if (entry.isDirectory() && !PASSED_OVER.has(entry.name)) open.push(`${path}/`);
    }
  }
  return found;
}

/** Lists the names in a directory within the budget; empty if it is not a directory. */
export function entriesOf(directory: string, budget: Budget): string[] {
  return readDirectory(directory).flatMap(({ name }) => (take(budget) ? [name] : []));
}

function readDirectory(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    // Not a directory, or not readable: then the command cannot read it either.
    return [];
  }
}

/** Directories that are looked at upwards for a repository. */
const MAX_LEVELS = 40;
const NAME_LENGTH = 0xfff;

/**
 * Returns a test for absolute paths: is the path tracked by git, by the index of the repository around `directory`?
 * Nothing is tracked without a repository, everything if its index has an unsupported format.
 */
export function trackedFiles(directory: string): (path: string) => boolean {
  const top = topOf(directory);
  if (top === null) return () => false;
  const index = readIndex(join(top, '.git'));
  if (index === null) return () => true;
  return (path) => path.startsWith(`${top}/`) && holds(index, path.slice(top.length + 1));
}

function topOf(directory: string): string | null {
  let at = directory;
  for (let level = 0; level < MAX_LEVELS; level += 1) {
    if (existsSync(join(at, '.git'))) return at;
    const up = dirname(at);
    if (up === at) return null;
    at = up;
  }
  return null;
}

/** Maximum size of an index, that of some two million files. */
const MAX_INDEX = 256 * 1024 * 1024;

/** null for an index that is missing, no plain file, or of another version than 2, which writes every path out. */
function readIndex(git: string): Buffer | null {
  try {
    const path = join(repositoryOf(git), 'index');
    const stat = statSync(path);
    if (!stat.isFile() || stat.size > MAX_INDEX) return null;
    const index = readFileSync(path);
    return index.toString('latin1', 0, 4) === 'DIRC' && index.readUInt32BE(4) === 2 ? index : null;
  } catch {
    return null;
  }
}

/** In a worktree, `.git` is a file that names the directory. */
function repositoryOf(git: string): string {
  let text: string;
  try {
    if (!statSync(git).isFile()) return git; // a directory, as in most repositories
    text = readFileSync(git, 'utf8');
  } catch {
    return git;
  }
  const [, path = ''] = /^gitdir: (.+)$/m.exec(text) ?? [];
  return resolve(dirname(git), path);
}

/** An entry ends with two bytes of flags, the path's length in their lower twelve bits, the path and a zero. */
function holds(index: Buffer, path: string): boolean {
  const length = Buffer.byteLength(path);
  for (let at = index.indexOf(`${path}\0`); at !== -1; at = index.indexOf(`${path}\0`, at + 1)) {
    if (at >= 2 && (index.readUInt16BE(at - 2) & NAME_LENGTH) === Math.min(length, NAME_LENGTH)) return true;
  }
  return false;
}
