import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Effect } from '../../engine/effects.ts';
import type { IterationRecord } from '../../engine/schema/records.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { readRegularFile, removeIfThere } from '../../state/files/read-regular-file.ts';
import { readTail } from '../../state/files/read-tail.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import { log } from '../../state/log.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { readState } from '../../state/read-state.ts';
import { lastRecord, recordJournal } from './journal.ts';

/** What the journals are to be told of one iteration, as its record and what belongs to it. */
interface Due {
  readonly record: IterationRecord;
  readonly effects: readonly Effect[];
}

const MOST_BYTES = 1024 * 1024;
/** Of the events journal: what was due lies at its very end. */
const TAIL_BYTES = 64 * 1024;

/**
 * Keeps what an iteration's end has to tell the journals, before the state is written: a runner that is killed between
 * the two would leave the iteration out of them. That it cannot be kept is logged and changes no decision.
 */
export function keepDue(files: LoopFiles, at: string, effects: readonly Effect[]): void {
  const found = effects.find((effect) => effect.type === 'record-iteration');
  if (found === undefined) return;
  const records = effects.filter(({ type }) => type === 'record-iteration' || type === 'record-event');
  try {
    writeAtomically(pathOf(files), `${JSON.stringify({ record: found.record, effects: records })}\n`, 0o600);
  } catch (error) {
    log(files, at, 'due-records', (error as Error).message);
  }
}

/**
 * Tells the journals what a runner that was killed had left to be told: each line once, and only of an iteration that
 * the state counts. For whoever holds the lease.
 */
export function tellDue(files: LoopFiles, at: string): void {
  const due = readDue(files);
  if (due === null) return;
  const { record, effects } = due;
  const current = readState(files.state);
  if (current.kind === 'loop' && counts(current.state, record)) {
    recordJournal(
      files,
      at,
      effects.filter((effect) => !isTold(files, effect)),
    );
  }
  forgetDue(files);
}

/** Nothing is due any more: the loop is over, or every record was told. */
export function forgetDue(files: LoopFiles): void {
  removeIfThere(pathOf(files));
}

function counts(state: LoopState, { loopId, iteration, idleIterations }: IterationRecord): boolean {
  return state.loopId === loopId && state.iteration >= iteration && state.idleIterations >= idleIterations;
}

function isTold(files: LoopFiles, effect: Effect): boolean {
  switch (effect.type) {
    case 'record-iteration': {
      const { loopId, iteration, idleIterations } = effect.record;
      const last = lastRecord(files, loopId);
      return last !== null && last.iteration >= iteration && last.idleIterations >= idleIterations;
    }
    case 'record-event': {
      const wanted = JSON.stringify(effect.event);
      let told = false;
      readTail(files.events, TAIL_BYTES, (line) => {
        told = line === wanted;
        return told;
      });
      return told;
    }
    default:
      return true;
  }
}

/** Only a runner writes it, whole, outside the project: what cannot be read tells nothing. */
function readDue(files: LoopFiles): Due | null {
  const path = pathOf(files);
  if (!existsSync(path)) return null;
  try {
    const { record, effects } = JSON.parse(readRegularFile(path, MOST_BYTES) ?? '') as Partial<Due>;
    return typeof record?.loopId === 'string' && Array.isArray(effects) ? { record, effects } : null;
  } catch {
    return null;
  }
}

function pathOf({ outsideDir, name }: LoopFiles): string {
  return join(outsideDir, `runner${name === null ? '' : `.${name}`}.due.json`);
}
