import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { bundleDir } from '../../src/install/bundle-dir.ts';
import { writeAtomically } from '../../src/state/write-atomically.ts';

const TDD_TASK = '.claude/ralph/TDD.md';

/** The task file of a TDD loop that names none, relative to the project: written from the template where it is not there. */
export function tddTask(projectDir: string): string {
  const path = join(projectDir, TDD_TASK);
  if (!existsSync(path)) {
    mkdirSync(dirname(path), { recursive: true });
    writeAtomically(path, readFileSync(join(bundleDir(), 'templates', 'TDD.md')));
  }
  return TDD_TASK;
}
