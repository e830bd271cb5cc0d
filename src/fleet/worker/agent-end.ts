import { readRecord } from '../../state/files/record-file.ts';
import { leasePaths } from '../../state/lock/lease-holder.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { endGroup } from '../../state/process/group.ts';
import { isAlive, type ProcessIdentity } from '../../state/process/identity.ts';

/** Ends a runner and its agent at once, whatever they are doing. Resolves when both process groups are gone. */
export async function endAtOnce(files: LoopFiles, runner: number | undefined): Promise<void> {
  const agent = agentOf(files);
  // The runner first: it would start another agent.
  if (runner !== undefined) killGroup(runner);
  if (agent !== null) {
    killGroup(agent.pid);
    await endGroup(agent.pid);
  }
  if (runner !== undefined) await endGroup(runner);
}

function killGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** Returns the agent that the runner of this loop has noted; null if none is alive. */
function agentOf(files: LoopFiles): ProcessIdentity | null {
  // If it is torn, its watch ends the agent when the runner is gone.
  const { agent } = readRecord<{ readonly agent: ProcessIdentity | null }>(leasePaths(files).holder) ?? {};
  return typeof agent?.pid === 'number' && agent.pid > 1 && isAlive(agent) ? agent : null;
}
