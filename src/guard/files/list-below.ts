import { type Dirent, readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { type Budget, take } from './budget.ts';

/** Nobody's secrets: thousands of files that a tool put there, with keys for tests among them. */
const PASSED_OVER = new Set(['node_modules', '.git']);

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
