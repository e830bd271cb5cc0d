import { existsSync, statSync } from 'node:fs';
import type { LoopState } from '../engine/schema/state.ts';
import { RalphError } from '../text/message.ts';
import { removeIfThere, syncDirectory, writeAtomically } from './files/regular-file.ts';
import { type LockOptions, withLock } from './lock/lock.ts';
import { type LoopFiles, parseState, type ReadState, readState } from './loop-files.ts';

export interface Change<T> {
  /** The new state, `keep` for no change, or `remove` once it is in the archive. */
  readonly next: LoopState | 'keep' | 'remove';
  readonly result: T;
}

export interface StateOptions extends LockOptions {
  /** The caller's lease: `decide` is not called once another process has taken over the loop. */
  readonly lease?: { readonly loopId: string; readonly epoch: number };
}

/**
 * Read-modify-write of a loop's state under its lock: the only way to change it. `decide` must be quick and must not
 * wait. After an error the file is the old one or the new one, whole. Without the folder of the runtime files there is no
 * loop: `decide` gets `absent`, and nothing is created.
 * Throws, and writes nothing: `state-fenced` for an older epoch than the one on disk, `state-newer` for the file of a
 * newer program, `state-corrupt` for an unusable file that `decide` has not moved aside or a state that could not be read
 * again, `no-loop` where no loop can be.
 */
export function withState<T>(files: LoopFiles, options: StateOptions, decide: (current: ReadState) => Change<T>): T {
  if (statSync(files.runtimeDir, { throwIfNoEntry: false }) === undefined) {
    const { next, result } = decide({ kind: 'absent' });
    if (next === 'keep') return result;
    throw new RalphError('no-loop', `${files.runtimeDir} no longer exists.`);
  }
  return withLock(files.lock, options, (assertHeld) => {
    const current = readState(files.state);
    if (current.kind === 'loop' && options.lease) refuseOlderEpoch(current.state, options.lease);
    // Before `decide`, which could change the object.
    const before = current.kind === 'loop' ? serialise(current.state) : null;
    const { next, result } = decide(current);
    if (next === 'keep') return result;
    if (current.kind === 'newer') {
      const message = `${files.state} belongs to a newer ralph-loop (version ${current.version}) and was left as it is.`;
      throw new RalphError('state-newer', message);
    }
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
  const message = `another process has taken over loop ${current.loopId} (epoch ${current.epoch}); this one (${writer.loopId}, epoch ${writer.epoch}) may no longer write.`;
  throw new RalphError('state-fenced', message);
}

function refuseToOverwrite(files: LoopFiles, problem: string): void {
  if (statSync(files.state, { throwIfNoEntry: false }) === undefined) return;
  throw new RalphError('state-corrupt', `${files.state} is unusable (${problem}) and was not moved aside.`);
}

/** NaN becomes null and undefined disappears in JSON: the written text decides. */
function refuseUnreadable(text: string): void {
  const read = parseState(text);
  if (read.kind === 'loop') return;
  const problem = read.kind === 'corrupt' ? read.problem : `it would be of kind ${read.kind}`;
  throw new RalphError('state-corrupt', `the state could not be read again after this change: ${problem}`);
}

/** Longest wait for a loop's state: a hook then allows the stop, a command reports it. */
export const LOCK_WAIT = { waitMs: 10_000 } as const;
