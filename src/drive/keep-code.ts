import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Script } from 'node:vm';
import { removeIfThere } from '../state/remove-if-there.ts';
import { writeAtomically } from '../state/write-atomically.ts';

export interface Uncached {
  readonly script: Script;
  /** The part's file name. */
  readonly name: string;
  /** The absolute path of its cache. */
  readonly cache: string;
}

/** Two projects can have two builds: what one of them used lately is not taken away by the other. */
const OLD_MS = 7 * 24 * 3_600_000;

/**
 * Keeps the code of parts that were compiled anew, with every function that has run by now, and takes away what earlier
 * builds of them left a week ago. Never throws.
 */
export function keepCode(parts: readonly Uncached[]): void {
  for (const { script, name, cache } of parts) {
    try {
      const folder = dirname(cache);
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      writeAtomically(cache, script.createCachedData(), 0o600);
      for (const other of readdirSync(folder)) {
        const left = join(folder, other);
        if (other.startsWith(`${name}-`) && Date.now() - statSync(left).mtimeMs > OLD_MS) removeIfThere(left);
      }
    } catch {
      // No space, no right to write: the next hook compiles for itself again.
    }
  }
}
