import { readLines } from '../../src/state/files/journal-lines.ts';
import type { LoopFiles } from '../../src/state/loop-files.ts';

type Entries = readonly Readonly<Record<string, unknown>>[];

const CALL = /^tool\.(asked|denied|done|failed)$/;

/** Returns the records of iterations in an event stream, without what makes them events. */
export function iterationsIn({ events }: Pick<LoopFiles, 'events'>): Record<string, unknown>[] {
  return recordsOf(readLines(events).entries);
}

export function recordsOf(entries: Entries): Record<string, unknown>[] {
  return entries
    .filter(({ type }) => type === 'iteration.ended')
    .map(({ v: _, type: __, at: ___, ...record }) => record);
}

/** Returns what the tool hooks recorded, with the phase of each call. */
export function callsOf(entries: Entries): Record<string, unknown>[] {
  return entries.flatMap((entry) => {
    const [, phase] = CALL.exec(String(entry['type'])) ?? [];
    return phase === undefined ? [] : [{ ...entry, phase }];
  });
}

/** Returns what was decided, without what agent, tools and checks did. */
export function decisionsOf(entries: Entries): Entries {
  return entries.filter(({ type }) => !ACTIVITY.test(String(type)));
}

/** Written from the published list of types, not from the program. */
const ACTIVITY =
  /^(?:tool|command|verification|check|wait|run)\.|^agent\.(?!ended$)|^iteration\.(?:started|ended)$|^steering\.(?:pending|sent)$/;
