import { type Dirent, readdirSync } from 'node:fs';
import { basename } from 'node:path';

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

/** Lists the paths below a directory, relative to it; empty if it is none. Symlinks are not followed. */
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
