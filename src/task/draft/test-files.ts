import { type Dirent, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { MADE_BY_TOOLS } from '../progress/left-out.ts';

const FOLDERS = ['test', 'tests', 'spec', '__tests__', 'e2e'];
/** Names of tests that stand beside the code, each with its glob. */
const NAMES: readonly (readonly [RegExp, glob: string])[] = [
  [/\.test\.\w+$/, '**/*.test.*'],
  [/\.spec\.\w+$/, '**/*.spec.*'],
  [/_test\.\w+$/, '**/*_test.*'],
  [/^test_.+\.py$/, '**/test_*.py'],
];
const DEPTH = 4;
const MOST_ENTRIES = 5000;

/** Returns globs of the project's tests: its folders for tests, and the names of tests that are elsewhere. */
export function testFiles(projectDir: string): string[] {
  const found = new Set<string>();
  let left = MOST_ENTRIES;
  const look = (folder: string, depth: number): void => {
    for (const entry of entriesOf(join(projectDir, folder))) {
      left -= 1;
      if (left < 0) return;
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (!entry.isDirectory()) {
        for (const [name, glob] of NAMES) if (name.test(entry.name)) found.add(glob);
      } else if (depth === 0 && FOLDERS.includes(entry.name)) found.add(`${entry.name}/**`);
      else if (depth < DEPTH && !entry.name.startsWith('.') && !MADE_BY_TOOLS.includes(entry.name))
        look(path, depth + 1);
    }
  };
  look('', 0);
  return [...found].sort();
}

function entriesOf(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // closed to us: what is in it is not proposed
  }
}
