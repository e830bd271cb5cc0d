import { countersOf, higher, wentBackText, withCounters, withStoppedTime } from '../engine/counters.ts';
import type { Counters, LoopState } from '../engine/schema/state.ts';
import { instantOf } from '../text/time.ts';
import { recordNotice } from './event-stream.ts';
import { listLiveEvidence } from './evidence/store-evidence.ts';
import { writeRecord } from './files/regular-file.ts';
import type { LoopFiles, ReadState } from './loop-files.ts';

/** Counters that a process has seen, such as a runner: they hold even if every file is put back. */
export interface KnownCounters {
  counters: Counters;
}

/** Begins to keep the counters of a loop. Called under the lock of its state, before its contract is written. */
export function beginCounters(files: LoopFiles, state: LoopState): void {
  // The contract, which is written next in the same folder, waits for the name.
  writeRecord(files.counters, countersOf(state), 'content');
  listLiveEvidence(files, state.loopId, 'counters');
}

/**
 * Stores the counts of a state that was read or written, if the loop keeps counters, and returns what is stored then. The
 * state is written first, so that a kill in between leaves a state with more than its counters, never with less: a state
 * that has less was put back. The next access makes up for such a kill before anything else is counted. Session and client of a
 * state that was only read (`isRead`) are not stored: another program can have written them.
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
  if (JSON.stringify(stored) !== JSON.stringify(counters)) writeRecord(files.counters, counters);
  if (known) known.counters = counters;
  return counters;
}

/**
 * Stores the time in which a loop was stopped before the state that has it: a kill in between loses no time, since time that
 * was added is not added again. A state with more time than the counters was therefore forged.
 */
export function keepStoppedTime(files: LoopFiles, state: LoopState, stored: Counters | null): void {
  if (stored === null) return;
  const next = withStoppedTime(stored, countersOf(state));
  if (next !== stored) writeRecord(files.counters, next);
}

/** Iterations by which a kill between state and counters leaves the counters behind; more is an older copy. */
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
 * Returns a state that was read with counts as high as the stored ones, and as those that the caller has seen. A state that
 * has less is named in every report.
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
