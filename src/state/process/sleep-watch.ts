import { instantOf } from '../../text/time.ts';

/** Delay of a look from which the machine must have slept, or the process must have been stopped; a busy process is later less. */
export const SLEPT_MS = 5_000;
const LOOK_MS = 330;

const watches = new Set<() => void>();

/**
 * Calls `onSleep` with the instant since when this process has not run, whenever its machine has slept or it was stopped: soon,
 * and within `lookAtClock`. Returns a function that ends the watch.
 */
export function watchSleep(onSleep: (since: string) => void): () => void {
  let looked = Date.now();
  const look = (): void => {
    const due = looked + LOOK_MS;
    looked = Date.now();
    if (looked - due > SLEPT_MS) onSleep(instantOf(due));
  };
  const timer = setInterval(look, LOOK_MS).unref();
  watches.add(look);
  return () => {
    clearInterval(timer);
    watches.delete(look);
  };
}

export const isWatching = (): boolean => watches.size > 0;

/** Lets the watches of this process note a sleep first: called before anything is judged by the time. */
export function lookAtClock(): void {
  for (const look of watches) look();
}
