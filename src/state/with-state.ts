import { existsSync, statSync } from 'node:fs';
import type { LoopState } from '../engine/schema/state.ts';
import { RalphError } from '../text/ralph-error.ts';
import { removeIfThere } from './files/read-regular-file.ts';
import { syncDirectory, writeAtomically } from './files/write-atomically.ts';
import { type LockOptions, withLock } from './lock/lock.ts';
import type { LoopFiles } from './loop-files.ts';
import { parseState, type ReadState, readState } from './read-state.ts';

export interface Change<T> {
  /** The new state, `keep` for no change, or `remove` once the archive has it whole. */
  readonly next: LoopState | 'keep' | 'remove';
  readonly result: T;
}

export interface StateOptions extends LockOptions {
  /** The lease under which the caller works: `decide` is not even asked once another process took the loop over. */
  readonly lease?: { readonly loopId: string; readonly epoch: number };
}

/**
 * Read-modify-write of a loop's state under its lock: the only way to change it. `decide` must be quick and must not
 * wait. When this returns, the change is on disk; when it throws, the file is the old one or the new one, whole. Where
 * the folder of the runtime files is missing there is no loop: `decide` is told so, nothing is made, and only whoever
 * starts a loop makes it.
 * Refused with a RalphError, and nothing written: a change from an older epoch than the one on disk (`state-fenced`),
 * one over the file of a newer program (`state-newer`), one over an unusable file that `decide` has not moved aside,
 * one that could not be read again (both `state-corrupt`), and one where no loop can be (`no-loop`).
 */
export function withState<T>(files: LoopFiles, options: StateOptions, decide: (current: ReadState) => Change<T>): T {
  if (statSync(files.runtimeDir, { throwIfNoEntry: false }) === undefined) {
    const { next, result } = decide({ kind: 'absent' });
    if (next === 'keep') return result;
    throw new RalphError('no-loop', `${files.runtimeDir} is gone.`);
  }
  return withLock(files.lock, options, (assertHeld) => {
    const current = readState(files.state);
    if (current.kind === 'loop' && options.lease) refuseOlderEpoch(current.state, options.lease);
    // Taken before `decide`, which could change the object it was given.
    const before = current.kind === 'loop' ? serialise(current.state) : null;
    const { next, result } = decide(current);
    if (next === 'keep') return result;
    if (current.kind === 'newer') throw newer(files, current.version);
    assertHeld();
    if (next === 'remove') {
      removeIfThere(files.state);
      syncDirectory(files.runtimeDir);
      return result;
    }
    if (current.kind === 'corrupt') refuseToOverwrite(files, current.problem);
    if (current.kind === 'loop' && current.state.loopId === next.loopId) refuseOlderEpoch(current.state, next);
    const after = serialise(next);
    if (after === before && existsSync(files.state)) return result; // not there: `decide` moved it aside
    refuseUnreadable(after);
    writeAtomically(files.state, after);
    return result;
  });
}

export function serialise(state: LoopState): string {
  return `${JSON.stringify(state, null, 2)}\n`;
}

function refuseOlderEpoch(current: LoopState, writer: { readonly loopId: string; readonly epoch: number }): void {
  if (writer.loopId === current.loopId && writer.epoch >= current.epoch) return;
  throw new RalphError(
    'state-fenced',
    `another process has taken over loop ${current.loopId} (epoch ${current.epoch}); this one (${writer.loopId}, epoch ${writer.epoch}) may no longer write.`,
  );
}

function newer(files: LoopFiles, version: number): RalphError {
  return new RalphError(
    'state-newer',
    `${files.state} belongs to a newer ralph-loop (version ${version}) and was left as it is.`,
  );
}

function refuseToOverwrite(files: LoopFiles, problem: string): void {
  if (statSync(files.state, { throwIfNoEntry: false }) === undefined) return;
  throw new RalphError('state-corrupt', `${files.state} is unusable (${problem}) and was not moved aside.`);
}

/** NaN becomes null and undefined disappears in JSON: what counts is what the next reader finds. */
function refuseUnreadable(text: string): void {
  const read = parseState(text);
  if (read.kind === 'loop') return;
  const problem = read.kind === 'corrupt' ? read.problem : `it would be of kind ${read.kind}`;
  throw new RalphError('state-corrupt', `nobody could read the state after this change: ${problem}`);
}

/** How long anybody waits for a loop's state before giving up: a hook then lets the stop happen, a command says so. */
export const LOCK_WAIT = { waitMs: 10_000 } as const;
