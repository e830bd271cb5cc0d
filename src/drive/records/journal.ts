import type { Effect } from '../../engine/events.ts';
import type { IterationRecord } from '../../engine/schema/records.ts';
import { appendEvent, lastOfType } from '../../state/event-stream.ts';
import { lastEntry } from '../../state/files/read-tail.ts';
import { log } from '../../state/log.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** Appends the records among the effects to the event stream. A failure is logged: the state already counts. */
export function recordJournal(files: LoopFiles, at: string, effects: readonly Effect[]): void {
  for (const effect of effects) {
    const event = eventOf(effect);
    if (event === null) continue;
    try {
      appendEvent(files, event);
    } catch (error) {
      log(files, at, 'journal', `${files.events}: ${(error as Error).message}`);
    }
  }
}

/** Returns the event that an effect records; null if it records nothing. */
export function eventOf(effect: Effect): object | null {
  if (effect.type === 'record-event') return effect.event;
  return effect.type === 'record-iteration'
    ? { type: 'iteration.ended', at: effect.record.endedAt, ...effect.record }
    : null;
}

const TAIL_BYTES = 64 * 1024;

/** Returns the record of the iteration that ended last, former versions' journals included. */
export function lastRecord(files: LoopFiles, loopId: string): IterationRecord | null {
  const own = lastOfType(files, loopId, 'iteration.ended');
  // A loop that a former version began has a journal of its own for iterations.
  const found = Number.isInteger(own?.['iteration']) ? own : lastEntry(files.iterations, TAIL_BYTES, loopId);
  return found as IterationRecord | null;
}
