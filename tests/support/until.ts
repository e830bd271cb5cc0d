import { setTimeout as sleep } from 'node:timers/promises';
import { PATIENCE_MS } from './patience.ts';

/** Waits in real time, whatever a test does to its clock, and gives what then holds; rejects with `what` after `ms`. */
export async function until<T>(
  what: string,
  condition: () => T | undefined | null | false,
  ms = PATIENCE_MS,
): Promise<T> {
  for (const end = performance.now() + ms; ; await sleep(25)) {
    const found = condition();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > end) throw new Error(`after ${ms} ms still not: ${what}`);
  }
}
