import { setTimeout as sleep } from 'node:timers/promises';

/** Longest wait of a test, in milliseconds. It only ends what hangs: no result may depend on it. */
export const TEST_TIMEOUT_MS = 420_000;
/** Looks at processes and files cost the processor time that other tests wait for. */
const POLL_MS = 50;

type Sought<T> = T | undefined | null | false;

/** Polls in real time, whatever a test does to its clock, and returns the value found; rejects with `what` after `ms`. */
export async function until<T>(
  what: string,
  condition: () => Sought<T> | Promise<Sought<T>>,
  ms = TEST_TIMEOUT_MS,
): Promise<T> {
  for (const end = performance.now() + ms; ; await sleep(POLL_MS)) {
    const found = await condition();
    if (found !== undefined && found !== null && found !== false) return found;
    if (performance.now() > end) throw new Error(`after ${ms} ms still not: ${what}`);
  }
}
