import type { Effect } from '../../engine/events.ts';
import type { IterationRecord } from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { streamed } from '../../state/event-stream.ts';
import { readTail } from '../../state/files/read-tail.ts';
import { readRecord, removeIfThere, writeRecord } from '../../state/files/regular-file.ts';
import { log } from '../../state/log.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import { lastRecord, recordJournal } from './journal.ts';

interface Pending {
  readonly record: IterationRecord;
  readonly effects: readonly Effect[];
}

/** End of the events journal in which a delivered entry is looked for. */
const TAIL_BYTES = 4 * 1024 * 1024;

/** Stores an iteration's journal entries before the state, should the runner be killed between the two. */
export function enqueue(files: LoopFiles, at: string, effects: readonly Effect[]): void {
  const found = effects.find((effect) => effect.type === 'record-iteration');
  if (found === undefined) return;
  const records = effects.filter(({ type }) => type === 'record-iteration' || type === 'record-event');
  try {
    writeRecord(files.outbox, { record: found.record, effects: records });
  } catch (error) {
    log(files, at, 'outbox', (error as Error).message);
  }
}

/** Delivers what a killed runner left, each line once, if the state counts it. The caller holds the lease. */
export function deliver(files: LoopFiles, at: string): void {
  // Only a runner writes it, whole, outside the project; an unreadable one is ignored.
  const { record, effects } = readRecord<Pending>(files.outbox) ?? {};
  if (typeof record?.loopId !== 'string' || !Array.isArray(effects)) return;
  const current = readState(files.state);
  if (current.kind === 'loop' && counts(current.state, record)) {
    recordJournal(
      files,
      at,
      effects.filter((effect) => !isDelivered(files, effect)),
    );
  }
  clear(files);
}

export function clear(files: LoopFiles): void {
  removeIfThere(files.outbox);
}

function counts(state: LoopState, { loopId, iteration, idleIterations }: IterationRecord): boolean {
  return state.loopId === loopId && state.iteration >= iteration && state.idleIterations >= idleIterations;
}

function isDelivered(files: LoopFiles, effect: Effect): boolean {
  switch (effect.type) {
    case 'record-iteration': {
      const { loopId, iteration, idleIterations } = effect.record;
      const last = lastRecord(files, loopId);
      return last !== null && last.iteration >= iteration && last.idleIterations >= idleIterations;
    }
    case 'record-event': {
      const wanted = JSON.stringify(streamed(effect.event));
      let found = false;
      readTail(files.events, TAIL_BYTES, (line) => {
        found = line === wanted;
        return found;
      });
      return found;
    }
    default:
      return true;
  }
}
