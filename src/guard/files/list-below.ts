import { type Dirent, readdirSync } from 'node:fs';
import { basename } from 'node:path';

/** Files and folders that are looked at for one use of a path, and for all uses of one call. */
const MAX_ENTRIES = 5000;
const MAX_IN_ALL = 20_000;
/** Nobody's secrets: thousands of files that a tool put there, with keys for tests among them. */
const PASSED_OVER = new Set(['node_modules', '.git']);

/** How much may still be looked at. Below zero there was more than that. */
export interface Budget {
  /** For this use of a path. */
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

/** Whether the whole call has had its share: then nothing more is looked up. */
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

/**
 * Everything below a directory, as paths relative to it; nothing for what is no directory. Symlinks are listed and not
 * followed.
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

/** The names in a directory, none for what is no directory, within the budget. */
export function entriesOf(directory: string, budget: Budget): string[] {
  return readDirectory(directory).flatMap(({ name }) => (take(budget) ? [name] : []));
}

function readDirectory(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    // No directory, or none that may be looked into: then the command cannot reach below it either.
    return [];
  }
}
