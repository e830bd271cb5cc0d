import * as fs from 'node:fs';
import lockfile from 'proper-lockfile';
import { readRegularFile, removeIfThere } from '../../state/files/read-regular-file.ts';
import { writeAtomically } from '../../state/files/write-atomically.ts';
import { leasePaths } from '../../state/lock/lease-holder.ts';
import { withLock } from '../../state/lock/lock.ts';
import { newOwner, ownerLives, readOwner } from '../../state/lock/owner.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { endGroup } from '../../state/process/group.ts';
import { identityOf, isAlive, type ProcessIdentity } from '../../state/process/identity.ts';
import { LOCK_WAIT } from '../../state/with-state.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { RUNNER_TEXTS } from './messages.ts';

/** A lease whose holder gave no sign of life for so long is free, wherever that holder is. */
const STALE_MS = 30_000;

/** A killed runner's agent is ended by the watch over it, within so long; then by whoever takes the lease. */
const AGENT_ENDS_MS = 3_000;
const POLL_MS = 20;
const HOLDER_BYTES = 4096;

export interface Lease {
  /** Notes who works under this lease, before it is told what to do. */
  readonly noteAgent: (pid: number) => void;
  /** Resolves once no agent of a runner that held the lease before, and was killed, works any more. */
  readonly alone: Promise<void>;
  /** Gives the lease back, unless it is another runner's by now. */
  readonly release: () => void;
}

/**
 * Takes the long lease "one runner for this loop", which lies outside the project. Throws RalphError `refused`, with who
 * holds it, while another runner lives. A holder of this machine that is dead is found so at once; of another machine
 * nobody can ask, and its lease runs out. `onLost` is called when the lease could not be renewed: somebody else may hold
 * it by then, and the state's epoch keeps this runner from writing.
 */
export function takeLease(files: LoopFiles, onLost: () => void): Lease {
  fs.mkdirSync(files.outsideDir, { recursive: true, mode: 0o700 });
  const { path, lease, holder } = leasePaths(files);
  return withLock(`${path}.taking`, LOCK_WAIT, () => {
    const before = readOwner(holder);
    let former: ProcessIdentity | null = null;
    if (typeof before === 'object') {
      if (ownerLives(before, lease)) throw new RalphError('refused', RUNNER_TEXTS.held(before.pid));
      // Only one takes it at a time, so nobody else can have taken the dead holder's place.
      fs.rmSync(lease, { recursive: true, force: true });
      former = agentOf(holder);
    }
    const owner = newOwner();
    const note = (agent: ProcessIdentity | null): void =>
      writeAtomically(holder, `${JSON.stringify({ ...owner, agent })}\n`, 0o600);
    const own = (): boolean => {
      const found = readOwner(holder);
      return typeof found === 'object' && found.token === owner.token;
    };
    let lost = false;
    const lose = (): void => {
      lost = true;
      onLost();
    };
    const giveUp = lock(path, own, lose);
    note(null);
    return {
      noteAgent: (pid) => {
        if (own()) note(identityOf(pid));
      },
      alone: former === null ? Promise.resolve() : ended(former),
      release: () =>
        withLock(`${path}.taking`, LOCK_WAIT, () => {
          // What was lost is another runner's by now, whether this one has noticed or not.
          if (!own()) return;
          if (!lost) giveUp();
          removeIfThere(holder);
        }),
    };
  });
}

/**
 * Holds the lock at `path` until the function that it gives back is called, or this process ends. Where it is not ours
 * any more (`own`), the lock itself would be removed all the same, and with it the next holder's.
 */
function lock(path: string, own: () => boolean, onCompromised: () => void): () => void {
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
    if ((error as NodeJS.ErrnoException).code !== 'ELOCKED') throw error;
    throw new RalphError('refused', RUNNER_TEXTS.heldElsewhere, error);
  }
}

/** The agent that the holder had noted, where it still works. */
function agentOf(holder: string): ProcessIdentity | null {
  try {
    const { agent } = JSON.parse(readRegularFile(holder, HOLDER_BYTES) ?? '{}') as { agent?: ProcessIdentity | null };
    // A number without a start time may be anybody's by now.
    if (typeof agent?.pid !== 'number' || typeof agent.startedAt !== 'string') return null;
    return isAlive(agent) ? agent : null;
  } catch {
    return null; // torn, or somebody else's words: nothing is known of an agent
  }
}

/** The watch over it ends it politely, and is given the time that this takes. */
async function ended(agent: ProcessIdentity): Promise<void> {
  for (const end = Date.now() + AGENT_ENDS_MS; isAlive(agent); ) {
    if (Date.now() > end) return endGroup(agent.pid);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
