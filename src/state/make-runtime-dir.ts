import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { LoopFiles } from './loop-files.ts';
import { writeAtomically } from './write-atomically.ts';

/**
 * Makes the folder of the runtime files where it is not there yet, with a `.gitignore` that keeps them out of version
 * control, as `init` does. What lies there already is left as it is.
 */
export function makeRuntimeDir({ runtimeDir }: LoopFiles): void {
  if (statSync(runtimeDir, { throwIfNoEntry: false }) !== undefined) return;
  mkdirSync(runtimeDir, { recursive: true });
  writeAtomically(join(runtimeDir, '.gitignore'), '*\n');
}
