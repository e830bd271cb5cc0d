import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { removeIfThere } from '../state/remove-if-there.ts';
import { writeAtomically } from '../state/write-atomically.ts';
import { safePath } from './safe-path.ts';

/** Writes a file of the project whole, with its directories. One that was there keeps its permissions. */
export function placeFile(projectDir: string, path: string, content: string, mode: number): void {
  const real = safePath(projectDir, path);
  const before = statSync(real, { throwIfNoEntry: false });
  mkdirSync(dirname(real), { recursive: true });
  const wanted = before === undefined ? mode : before.mode & 0o777;
  writeAtomically(real, content, wanted);
  // The umask took its part from a mode that somebody had set on purpose.
  if (before !== undefined) chmodSync(real, wanted);
}

export function removeFile(projectDir: string, path: string): void {
  removeIfThere(safePath(projectDir, path));
}
