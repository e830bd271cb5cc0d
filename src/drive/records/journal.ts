import type { Effect } from '../../engine/effects.ts';
import type { IterationRecord } from '../../engine/schema/records.ts';
import { appendLine } from '../../state/files/journal-lines.ts';
import { lastEntry } from '../../state/files/read-tail.ts';
import { log } from '../../state/log.ts';
import type { LoopFiles } from '../../state/loop-files.ts';

/** Appends the records among the effects. A failure is logged: the state already counts. */
export function recordJournal(files: LoopFiles, at: string, effects: readonly Effect[]): void {
  for (const effect of effects) {
    if (effect.type === 'record-iteration') append(files, at, files.iterations, effect.record);
    if (effect.type === 'record-event') append(files, at, files.events, effect.event);
  }
}

function append(files: LoopFiles, at: string, path: string, entry: object): void {
  try {
    appendLine(path, entry);
  } catch (error) {
    log(files, at, 'journal', `${path}: ${(error as Error).message}`);
  }
}

const TAIL_BYTES = 64 * 1024;

export function lastRecord(files: LoopFiles, loopId: string): IterationRecord | null {
  return lastEntry(files.iterations, TAIL_BYTES, loopId) as IterationRecord | null;
}

export function lastEvent(files: LoopFiles, loopId: string): Record<string, unknown> | null {
  return lastEntry(files.events, TAIL_BYTES, loopId);
}
