import { countersOf, higher, wentBackText, withCounters, withStoppedTime } from '../engine/counters.ts';
import type { Counters, LoopState } from '../engine/schema/state.ts';
import { instantOf } from '../text/time.ts';
import { recordNotice } from './event-stream.ts';
import { listLiveEvidence } from './evidence/store-evidence.ts';
import { moveFolderAside, writeRecord } from './files/regular-file.ts';
import type { LoopFiles, ReadState } from './loop-files.ts';

/** Counters that a process, such as a runner, has seen. They hold even if all files are replaced by older ones. */
export interface KnownCounters {
  counters: Counters;
}

/** Begins to keep the counters of a loop. Called under the lock of its state, before its contract is written. */
export function beginCounters(files: LoopFiles, state: LoopState): void {
  // Does not wait for the name: the contract, written next to the same folder, does.
  writeRecord(files.counters, countersOf(state), 'content');
  listLiveEvidence(files, state.loopId, 'counters');
}

/**
 * Stores the counts of a state that was read or written, if the loop keeps counters, and returns what is then stored. The state
 * is written first, so that a kill in between leaves the counters lower than the state, never higher: a state below its
 * counters was put back. The next access makes up for such a kill before anything else is counted. Session and client of a
 * state that was only read (`isRead`) are not stored: another program may have written them.
 */
export function keepCounters(
  files: LoopFiles,
  state: LoopState,
  stored: Counters | null,
  known: KnownCounters | undefined,
  isRead = false,
): Counters | null {
  const { sessionId: _, clientPid: __, ...counts } = countersOf(state);
  const { sessionId, clientPid } = isRead && stored?.loopId === state.loopId ? stored : countersOf(state);
  const session = { ...(sessionId !== undefined && { sessionId }), ...(clientPid !== undefined && { clientPid }) };
  const counters: Counters = { ...counts, ...session };
  const isKept = [stored, known?.counters].some((found) => found?.loopId === state.loopId);
  if (!isKept) return stored;
  if (stored?.loopId !== state.loopId) note(files, state, COUNTERS_TEXTS.writtenAgain(files.counters));
  else if (state.iteration - stored.iteration > MOST_BEHIND) note(files, state, COUNTERS_TEXTS.behind(files.counters));
  if (stored === null) moveFolderAside(files.counters);
  if (JSON.stringify(stored) !== JSON.stringify(counters)) writeRecord(files.counters, counters);
  if (known) known.counters = counters;
  return counters;
}

/**
 * Stores a loop's stopped time before the state that contains it: a kill in between loses no time, since time already added
 * is not added again. A state with more time than the counters was therefore forged.
 */
export function keepStoppedTime(files: LoopFiles, state: LoopState, stored: Counters | null): void {
  if (stored === null) return;
  const next = withStoppedTime(stored, countersOf(state));
  if (next !== stored) writeRecord(files.counters, next);
}

/** Iterations by which a kill between state and counters leaves the counters behind; more shows an older copy. */
const MOST_BEHIND = 1;

const COUNTERS_TEXTS = {
  writtenAgain: (path: string): string =>
    `${path}, which was missing or damaged, was written again from the memory of the runner.`,
  behind: (path: string): string => `${path} was replaced by an older copy; the counts of the state hold.`,
} as const;

function note(files: LoopFiles, state: LoopState, text: string): void {
  recordNotice(files, state, { at: instantOf(Date.now()), kind: 'counters', text, key: text });
}

/**
 * Returns a state that was read, with its counts raised to those stored and those that the caller has seen. Every report
 * names a state that had lower ones.
 */
export function withKept(
  files: LoopFiles,
  state: LoopState,
  stored: Counters | null,
  known?: KnownCounters,
): Extract<ReadState, { readonly kind: 'loop' }> {
  const kept = higher(stored, known?.counters ?? null, state.loopId);
  const wentBack = wentBackText(state, kept);
  if (kept === null || wentBack === null)
    return { kind: 'loop', state: kept === null ? state : withStoppedTime(state, kept) };
  note(files, state, wentBack);
  return { kind: 'loop', state: withCounters(state, kept), wentBack };
}
