import * as fs from 'node:fs';
import lockfile from 'proper-lockfile';
import { readRecord, removeIfThere, writeAtomically } from '../../state/files/regular-file.ts';
import { withLock } from '../../state/lock/lock.ts';
import { holderLives, isOwnedBy, leasePaths, newOwner, readOwner } from '../../state/lock/owner.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { endGroup } from '../../state/process/group.ts';
import { identityOf, isAlive, type ProcessIdentity } from '../../state/process/identity.ts';
import { LOCK_WAIT } from '../../state/with-state.ts';
import { about, RalphError } from '../../text/message.ts';
import { RUNNER_TEXTS } from './messages.ts';

/** Age without renewal after which a lease expires, whichever machine its holder runs on. */
const STALE_MS = 30_000;

/** Time that the watchdog has to end a killed runner's agent; then the next holder of the lease does. */
const AGENT_ENDS_MS = 3_000;
const POLL_MS = 20;

export interface Lease {
  /** Records the agent's process before it gets its prompt. */
  readonly noteAgent: (pid: number) => void;
  /** Resolves once no agent of a killed former holder is alive. */
  readonly alone: Promise<void>;
  /** Releases the lease, unless another runner holds it by now. */
  readonly release: () => void;
}

/**
 * Takes the lease "one runner for this loop", stored outside the project. Throws RalphError `refused` with the holder while
 * another runner is alive. A dead holder on this machine is detected at once; the lease of another machine has to expire.
 * Calls `onLost` if the lease could not be renewed: another runner may hold it, and the state's epoch keeps this one from
 * writing.
 */
export function takeLease(files: LoopFiles, onLost: () => void): Lease {
  fs.mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  const { path, lease, holder } = leasePaths(files);
  return withLock(`${path}.taking`, LOCK_WAIT, () => {
    const before = readOwner(holder);
    let former: ProcessIdentity | null = null;
    if (typeof before === 'object') {
      if (holderLives(before, lease))
        throw new RalphError('refused', about(RUNNER_TEXTS.held(before.pid), { name: files.name, mode: 'runner' }));
      // The lock admits one process at a time, so the dead holder's place is still free.
      fs.rmSync(lease, { recursive: true, force: true });
      former = agentOf(holder);
    }
    const owner = newOwner();
    // No process outlives a crash of the machine, so nothing waits for the disk.
    const note = (agent: ProcessIdentity | null): void =>
      writeAtomically(holder, `${JSON.stringify({ ...owner, agent })}\n`, 0o600, 'nothing');
    const own = (): boolean => isOwnedBy(holder, owner);
    let lost = false;
    const lose = (): void => {
      lost = true;
      onLost();
    };
    // Noted first: a runner that is killed before it has the lock is known to be dead.
    note(null);
    const giveUp = lock(path, own, lose, () => removeIfThere(holder));
    return {
      noteAgent: (pid) => {
        if (own()) note(identityOf(pid));
      },
      alone: former === null ? Promise.resolve() : ended(former),
      release: () =>
        withLock(`${path}.taking`, LOCK_WAIT, () => {
          // A lost lease belongs to another runner, even if this one has not noticed yet.
          if (!own()) return;
          if (!lost) giveUp();
          removeIfThere(holder);
        }),
    };
  });
}

/** Holds the lock at `path`. proper-lockfile alone would also remove a lock that now belongs to another process (`own`). */
function lock(path: string, own: () => boolean, onCompromised: () => void, onRefused: () => void) {
  let held = false;
  const rmdirSync: typeof fs.rmdirSync = (lease, options) => {
    if (!held || own()) fs.rmdirSync(lease, options);
  };
  try {
    const lockfilePath = `${path}.lease`;
    const options = { realpath: false, stale: STALE_MS, lockfilePath, onCompromised, fs: { ...fs, rmdirSync } };
    const release = lockfile.lockSync(path, options);
    held = true;
    return release;
  } catch (error) {
    onRefused();
    if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error;
    throw new RalphError('refused', RUNNER_TEXTS.heldElsewhere, error);
  }
}

function agentOf(holder: string): ProcessIdentity | null {
  const { agent } = readRecord<{ readonly agent: ProcessIdentity | null }>(holder) ?? {};
  // A process id without a start time may have been reused.
  if (typeof agent?.pid !== 'number' || typeof agent.startedAt !== 'string') return null;
  return isAlive(agent) ? agent : null;
}

/** Waits for the watchdog to end an agent, then ends its process group. */
async function ended(agent: ProcessIdentity): Promise<void> {
  for (const end = Date.now() + AGENT_ENDS_MS; isAlive(agent); ) {
    if (Date.now() > end) return endGroup(agent.pid);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
