import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import lockfile from 'proper-lockfile';
import { RalphError } from '../../core/ralph-error.ts';
import { withLock } from '../../state/lock.ts';
import { newOwner, ownerLives, readOwner } from '../../state/lock-owner.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { writeAtomically } from '../../state/write-atomically.ts';
import { LOCK_WAIT } from '../lock-wait.ts';
import { RUNNER_TEXTS } from './texts.ts';

/** A lease whose holder gave no sign of life for so long is free, wherever that holder is. */
const STALE_MS = 30_000;

export interface Lease {
  readonly release: () => void;
}

/**
 * Takes the long lease "one runner for this loop", which lies outside the project. Throws RalphError `refused`, with who
 * holds it, while another runner lives. A holder of this machine that is dead is found so at once; of another machine
 * nobody can ask, and its lease runs out. `onLost` is called when the lease could not be renewed: somebody else may hold
 * it by then, and the state's epoch keeps this runner from writing.
 */
export function takeLease(files: LoopFiles, onLost: () => void): Lease {
  let lost = false;
  const lose = (): void => {
    lost = true;
    onLost();
  };
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  const path = join(files.outsideDir, `runner${files.name === null ? '' : `.${files.name}`}`);
  const holder = `${path}.holder.json`;
  return withLock(`${path}.taking`, LOCK_WAIT, () => {
    const before = readOwner(holder);
    if (typeof before === 'object') {
      if (ownerLives(before, `${path}.lease`)) throw new RalphError('refused', RUNNER_TEXTS.held(before.pid));
      // Only one takes it at a time, so nobody else can have taken the dead holder's place.
      rmSync(`${path}.lease`, { recursive: true, force: true });
    }
    const release = lock(path, lose);
    writeAtomically(holder, `${JSON.stringify(newOwner())}\n`, 0o600);
    return {
      release: () => {
        // What was lost is another runner's by now.
        if (lost) return;
        rmSync(holder, { force: true });
        release();
      },
    };
  });
}

function lock(path: string, onLost: () => void): () => void {
  try {
    const options = { realpath: false, stale: STALE_MS, lockfilePath: `${path}.lease`, onCompromised: onLost };
    return lockfile.lockSync(path, options);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error;
    throw new RalphError('refused', RUNNER_TEXTS.heldElsewhere, error);
  }
}
