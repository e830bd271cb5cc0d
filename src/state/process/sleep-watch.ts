import { instantOf } from '../../text/time.ts';

/** Delay of a look from which the machine must have slept, or the process must have been stopped; a busy process is later less. */
export const SLEPT_MS = 5_000;

/**
 * Returns a function for a caller that looks at the clock every `everyMs`. It returns since when this process has not run, if
 * its machine slept or it was stopped since the last look; else null.
 */
export function sleepWatch(everyMs: number): () => string | null {
  let looked = Date.now();
  return () => {
    const due = looked + everyMs;
    looked = Date.now();
    return looked - due > SLEPT_MS ? instantOf(due) : null;
  };
}
