import { setTimeout as sleep } from 'node:timers/promises';

/** For something that never comes. What does come is late on a machine at which everybody works at once. */
const PATIENCE_MS = 60_000;

/** Resolves once this holds; rejects, with what it is, where it never does. Real time, whatever a test does to its clock. */
export async function eventually(what: string, holds: () => boolean): Promise<void> {
  for (const end = performance.now() + PATIENCE_MS; !holds(); await sleep(20)) {
    if (performance.now() > end) throw new Error(`never: ${what}`);
  }
}
