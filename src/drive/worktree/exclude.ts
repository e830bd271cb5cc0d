import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * Has a pattern ignored in this clone alone, for all its work trees: worktrees within the project are none of its
 * files, and `.gitignore` belongs to the user.
 */
export function exclude(commonDir: string, pattern: string): void {
  const path = join(commonDir, 'info', 'exclude');
  const text = existsSync(path) ? readFileSync(path, 'utf8') : '';
  if (text.split(/\r?\n/).includes(pattern)) return;
  mkdirSync(dirname(path), { recursive: true });
  appendFileSync(path, `${text === '' || text.endsWith('\n') ? '' : '\n'}${pattern}\n`);
}
