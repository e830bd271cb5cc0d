import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { withLock } from '../../state/lock.ts';
import { newOwner, ownerLives, readOwner } from '../../state/lock-owner.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { removeIfThere } from '../../state/remove-if-there.ts';
import { writeAtomically } from '../../state/write-atomically.ts';
import { LOCK_WAIT } from '../lock-wait.ts';
import { RouterLeft } from './router.ts';

const LOOK_MS = 100;

/**
 * Lets one call of a loop's holder work at a time: checks and commands take their time, and a host that calls again
 * meanwhile must not have them run twice. `epoch` is the holder's: what an older one has left at work is in nobody's
 * way, since it can no longer write. Waits for the other call until `until` (epoch milliseconds); gives what ends the
 * work, or null where the other one is still at it. Throws RouterLeft where this process was told to go meanwhile.
 */
export async function takeWork(
  files: LoopFiles,
  epoch: number,
  until: number,
  signal: AbortSignal,
): Promise<(() => void) | null> {
  mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  const pathOf = (of: number): string =>
    join(files.outsideDir, `router${files.name === null ? '' : `.${files.name}`}.at-work.${of}`);
  const path = pathOf(epoch);
  removeIfThere(pathOf(epoch - 1));
  for (;;) {
    const done = take(path);
    if (done !== null || Date.now() >= until) return done;
    if (signal.aborted) throw new RouterLeft();
    await sleep(LOOK_MS);
  }
}

function take(path: string): (() => void) | null {
  const mine = newOwner();
  return withLock(`${path}.lock`, LOCK_WAIT, () => {
    const before = readOwner(path);
    if (typeof before === 'object' && ownerLives(before, path)) return null;
    writeAtomically(path, `${JSON.stringify(mine)}\n`, 0o600);
    return () => release(path, mine.token);
  });
}

function release(path: string, token: string): void {
  withLock(`${path}.lock`, LOCK_WAIT, () => {
    const found = readOwner(path);
    if (typeof found === 'object' && found.token === token) removeIfThere(path);
  });
}
