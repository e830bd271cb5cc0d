import { mkdirSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Compiled code of the program under test. */
const CODE_CACHE = resolve('.build', 'code-cache');

/**
 * Shares one code cache with all programs that have this folder as their XDG_STATE_HOME: compiling is half of what a
 * command of the program costs.
 */
export function shareCodeCache(stateHome: string): void {
  const outside = join(stateHome, 'ralph-loop');
  for (const folder of [CODE_CACHE, outside]) mkdirSync(folder, { recursive: true, mode: 0o700 });
  symlinkSync(CODE_CACHE, join(outside, 'code-cache'), 'junction');
}
