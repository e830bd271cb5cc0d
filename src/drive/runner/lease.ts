import { type Hold, takeHold } from '../../state/lock/hold.ts';
import { readOwner, runnerHold } from '../../state/lock/owner.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { endGroup } from '../../state/process/group.ts';
import { identityOf, isAlive, type ProcessIdentity } from '../../state/process/identity.ts';
import { about, RalphError } from '../../text/message.ts';
import { RUNNER_TEXTS } from './messages.ts';

/** Time that the watchdog has to end a killed runner's agent; after that, the next holder of the lease ends it. */
const AGENT_ENDS_MS = 3_000;
const POLL_MS = 20;

export interface Lease extends Pick<Hold, 'release'> {
  /** Records the agent's process before it gets its prompt. */
  readonly noteAgent: (pid: number) => void;
  /** Resolves once no agent of a killed former holder is alive. */
  readonly alone: Promise<void>;
}

/**
 * Takes the hold "one runner for this loop". Throws RalphError `refused` with the holder while another runner is alive. Calls
 * `onLost` if its lease could not be renewed: another runner may hold it, but the state's epoch keeps this one from writing.
 */
export function takeLease(files: LoopFiles, onLost: () => void): Lease {
  const path = runnerHold(files);
  const hold = takeHold(path, onLost);
  if (hold === null) {
    const owner = readOwner(path);
    if (typeof owner !== 'object') throw new RalphError('refused', RUNNER_TEXTS.heldElsewhere);
    throw new RalphError('refused', about(RUNNER_TEXTS.held(owner.pid), { name: files.name, mode: 'runner' }));
  }
  const former = agentIn(hold.former);
  return {
    noteAgent: (pid) => hold.note({ agent: identityOf(pid) }),
    alone: former === null ? Promise.resolve() : ended(former),
    release: hold.release,
  };
}

/** Returns the agent that a runner noted in its hold; null if none is alive. */
function agentIn(holder: Hold['former']): ProcessIdentity | null {
  const { agent } = (holder ?? {}) as { readonly agent?: ProcessIdentity };
  // Without a start time, a process id may have been reused.
  if (typeof agent?.pid !== 'number' || typeof agent.startedAt !== 'string') return null;
  return isAlive(agent) ? agent : null;
}

/** Waits for the watchdog to end an agent; if that takes too long, ends its process group. */
async function ended(agent: ProcessIdentity): Promise<void> {
  for (const end = Date.now() + AGENT_ENDS_MS; isAlive(agent); ) {
    if (Date.now() > end) return endGroup(agent.pid);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}
