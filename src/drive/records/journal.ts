import type { Effect } from '../../engine/events.ts';
import type { IterationRecord } from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { Entry } from '../../state/event-stream.ts';
import {
  appendEvent,
  lastRecord,
  readBackwards,
  recordNotice,
  STREAM_BYTES,
  streamed,
} from '../../state/event-stream.ts';
import { readAllLines, readTail } from '../../state/files/journal-lines.ts';
import { readRecord, removeIfThere, writeRecord } from '../../state/files/regular-file.ts';
import { type LoopFiles, log, orLogged, readState } from '../../state/loop-files.ts';

/** Appends the records among the effects to the event stream. A failure is logged: the state already counts. */
export function recordJournal(files: LoopFiles, at: string, effects: readonly Effect[]): void {
  for (const effect of effects) {
    if (effect.type === 'record-event') recordEvent(files, at, effect.event);
    if (effect.type === 'record-iteration')
      recordEvent(files, at, { type: 'iteration.ended', at: effect.record.endedAt, ...effect.record });
  }
}

/** Appends an event to the event stream. A failure is logged, and named once in every report. */
export function recordEvent(files: LoopFiles, at: string, event: object): void {
  try {
    appendEvent(files, event);
  } catch (error) {
    const text = `${files.events}: ${(error as Error).message}`;
    log(files, at, 'journal', text);
    const { loopId, iteration = 0 } = event as Partial<Pick<LoopState, 'loopId' | 'iteration'>>;
    if (loopId === undefined) return;
    const notice = { at, kind: 'evidence', text: `events are not recorded: ${text}`, key: 'events' } as const;
    orLogged(files, at, 'journal', () => recordNotice(files, { loopId, iteration }, notice));
  }
}

interface Pending {
  readonly record: IterationRecord;
  readonly effects: readonly Effect[];
}

/** Size of the events journal's end that is searched for a delivered entry. */
const DELIVERED_BYTES = 4 * 1024 * 1024;

/** Stores an iteration's journal entries before the state, in case the runner is killed between the two. */
export function enqueue(files: LoopFiles, at: string, effects: readonly Effect[]): void {
  const found = effects.find((effect) => effect.type === 'record-iteration');
  if (found === undefined) return;
  const records = effects.filter(({ type }) => type === 'record-iteration' || type === 'record-event');
  orLogged(files, at, 'outbox', () => writeRecord(files.outbox, { record: found.record, effects: records }));
}

/** Delivers the entries that a killed runner left, each once, if the state counts the iteration. The caller holds the lease. */
export function deliverOutbox(files: LoopFiles, at: string): void {
  // Only a runner writes it, outside the project and atomically; an unreadable one is ignored.
  const { record, effects } = readRecord<Pending>(files.outbox) ?? {};
  if (typeof record?.loopId !== 'string' || !Array.isArray(effects)) return;
  const current = readState(files.state);
  if (current.kind === 'loop' && counts(current.state, record)) {
    const left = effects.filter((effect) => !isDelivered(files, effect));
    recordJournal(files, at, left);
  }
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
      readTail(files.events, DELIVERED_BYTES, (line) => {
        found = line === wanted;
        return found;
      });
      return found;
    }
    default:
      return true;
  }
}

/** Returns the iteration records of the loop `loopId`, or of the last recorded loop, oldest first, and the unreadable lines. */
export function iterationsOf(files: LoopFiles, loopId?: string) {
  const read = readAllLines(files.events, (line) => line.includes('"type":"iteration.ended"'));
  const entries = read.entries.filter(({ type }) => type === 'iteration.ended');
  const wanted = loopId ?? entries.at(-1)?.['loopId'];
  return { entries: entries.filter((entry) => entry['loopId'] === wanted), torn: read.torn };
}

/** Returns the last iteration records of a loop, at most `most`, oldest first. */
export function lastIterations(files: LoopFiles, loopId: string, most: number): Entry[] {
  const last: Entry[] = [];
  readBackwards(files, loopId, STREAM_BYTES, ['loop.started', 'iteration.ended'], (event) => {
    const isStart = event['type'] === 'loop.started';
    if (!isStart) last.unshift(event);
    return isStart || last.length === most;
  });
  return last;
}

/**
 * Returns how many iterations of a loop its journal lacks. The state is on disk before a decision takes effect, but the
 * journal is not: after a power failure or a kill in between, it ends earlier.
 */
export function unrecordedIterations(files: LoopFiles, { loopId, iteration, contractHash }: LoopState): number {
  // The iterations of an adopted loop were counted by another program.
  if (contractHash === null) return 0;
  const { entries } = iterationsOf(files, loopId);
  const recorded = new Set(entries.map((entry) => (entry['kind'] === 'idle' ? 0 : entry['iteration'])));
  return Array.from({ length: iteration }, (_, at) => at + 1).filter((number) => !recorded.has(number)).length;
}
