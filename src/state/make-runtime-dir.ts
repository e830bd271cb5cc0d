import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { LoopFiles } from './loop-files.ts';
import { writeAtomically } from './write-atomically.ts';

type RuntimeDir = Pick<LoopFiles, 'runtimeDir'>;

/**
 * Makes the folder of the runtime files where it is not there yet, with a `.gitignore` that keeps them out of version
 * control, as `init` does. What lies there already is left as it is.
 */
export function makeRuntimeDir(files: RuntimeDir): void {
  if (!existsSync(files.runtimeDir)) hideRuntimeDir(files);
}

/** The same for a work tree that has to be clean: the `.gitignore` also where the folder lies there without one. */
export function hideRuntimeDir({ runtimeDir }: RuntimeDir): void {
  mkdirSync(runtimeDir, { recursive: true });
  const ignore = join(runtimeDir, '.gitignore');
  if (!existsSync(ignore)) writeAtomically(ignore, '*\n');
}
