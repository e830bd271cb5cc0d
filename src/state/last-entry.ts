import { readTail } from './read-tail.ts';

/**
 * The newest line of a journal that is this loop's, counts an iteration and is wanted; null where the last `budget`
 * bytes hold none. Torn lines of processes that died are passed over.
 */
export function lastEntry(
  path: string,
  budget: number,
  loopId: string,
  wanted?: (entry: Record<string, unknown>) => boolean,
): Record<string, unknown> | null {
  let found: Record<string, unknown> | null = null;
  readTail(path, budget, (line) => {
    try {
      const entry = JSON.parse(line) as Record<string, unknown> | null;
      if (entry?.['loopId'] === loopId && Number.isInteger(entry['iteration']) && wanted?.(entry) !== false)
        found = entry;
    } catch {
      // no JSON
    }
    return found !== null;
  });
  return found;
}
