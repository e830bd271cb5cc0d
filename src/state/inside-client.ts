import { readFileSync } from 'node:fs';

/** No shell is nested deeper than that without meaning to hide. */
const MAX_GENERATIONS = 64;

/**
 * Whether this process descends from the shell of a loop's own client, or from the command that a runner has for an
 * agent, whatever it has done to its environment since: an ancestor was started with a RALPH_LOOP_ID and with
 * CLAUDECODE=1 or RALPH_DRIVER=runner. Only Linux tells; elsewhere the answer is no.
 * A process that detaches itself from its ancestors is not seen.
 */
export function insideLoopsClient(): boolean {
  if (process.platform !== 'linux') return false;
  for (let ancestor = process.ppid, depth = 0; ancestor > 1 && depth < MAX_GENERATIONS; depth++) {
    const variables = environmentOf(ancestor);
    const agents = variables.includes('CLAUDECODE=1') || variables.includes('RALPH_DRIVER=runner');
    if (agents && variables.some((entry) => /^RALPH_LOOP_ID=./.test(entry))) return true;
    ancestor = parentOf(ancestor);
  }
  return false;
}

function environmentOf(pid: number): string[] {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
  } catch {
    return []; // gone, or another user's
  }
}

function parentOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
  } catch {
    return 0;
  }
}
