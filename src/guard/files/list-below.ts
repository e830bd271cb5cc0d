import { type Dirent, readdirSync } from 'node:fs';
import { basename } from 'node:path';

/** Files and folders that are looked at for one call; what lies beyond is not told. */
const MAX_ENTRIES = 5000;
/** Nobody's secrets: thousands of files that a tool put there, with keys for tests among them. */
const PASSED_OVER = new Set(['node_modules', '.git']);

/** What is left of a call's looking around. */
export interface Budget {
  left: number;
}

export function newBudget(): Budget {
  return { left: MAX_ENTRIES };
}

/**
 * Everything below a directory, as paths relative to it; nothing for what is no directory. Symlinks are listed and not
 * followed. The budget is below zero afterwards where there was more.
 */
export function listBelow(directory: string, budget: Budget): string[] {
  if (PASSED_OVER.has(basename(directory))) return [];
  const found: string[] = [];
  const open = [''];
  for (let at = 0; at < open.length && budget.left >= 0; at += 1) {
    const prefix = open[at] ?? '';
    for (const entry of readDirectory(`${directory}/${prefix}`)) {
      budget.left -= 1;
      if (budget.left < 0) break;
      const path = `${prefix}${entry.name}`;
      found.push(path);
      if (entry.isDirectory() && !PASSED_OVER.has(entry.name)) open.push(`${path}/`);
    }
  }
  return found;
}

/** The names in a directory, none for what is no directory, within the budget. */
export function entriesOf(directory: string, budget: Budget): string[] {
  const names = readDirectory(directory).map((entry) => entry.name);
  budget.left -= names.length;
  return budget.left < 0 ? [] : names;
}

function readDirectory(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    // No directory, or none that may be looked into: then the command cannot reach below it either.
    return [];
  }
}
