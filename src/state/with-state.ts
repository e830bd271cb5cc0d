import { mkdirSync } from 'node:fs';
import { RalphError } from '../core/ralph-error.ts';
import type { LoopState } from '../core/schema/state.ts';
import { type LockOptions, withLock } from './lock.ts';
import type { LoopFiles } from './loop-files.ts';
import { type ReadState, readState } from './read-state.ts';
import { removeIfThere } from './remove-if-there.ts';
import { syncDirectory, writeAtomically } from './write-atomically.ts';

export interface Change<T> {
  /** The new state, `keep` for no change, or `remove` once the archive has it whole. */
  readonly next: LoopState | 'keep' | 'remove';
  readonly result: T;
}

/**
 * Read-modify-write of a loop's state under its lock: the only way to change it. `decide` must be quick and must not
 * wait. A write from an older epoch than the one on disk is refused (`state-fenced`).
 */
export function withState<T>(files: LoopFiles, options: LockOptions, decide: (current: ReadState) => Change<T>): T {
  ensureRuntimeDir(files);
  return withLock(files.lock, options, () => {
    const current = readState(files.state);
    const { next, result } = decide(current);
    if (next === 'keep') return result;
    if (next === 'remove') {
      removeIfThere(files.state);
      syncDirectory(files.runtimeDir);
      return result;
    }
    if (current.kind === 'loop') refuseOlderEpoch(current.state, next);
    if (current.kind !== 'loop' || current.state !== next) writeAtomically(files.state, serialise(next));
    return result;
  });
}

export function serialise(state: LoopState): string {
  return `${JSON.stringify(state, null, 2)}\n`;
}

function refuseOlderEpoch(current: LoopState, next: LoopState): void {
  if (next.loopId === current.loopId && next.epoch < current.epoch) {
    throw new RalphError(
      'state-fenced',
      `another process has taken over loop ${current.loopId} (epoch ${current.epoch}); this one (epoch ${next.epoch}) may no longer write.`,
    );
  }
}

function ensureRuntimeDir(files: LoopFiles): void {
  mkdirSync(files.runtimeDir, { recursive: true });
}
