import { readFileSync } from 'node:fs';
import { procIsOurs } from './identity.ts';

/** No shell is nested deeper than that without meaning to hide. */
const MAX_GENERATIONS = 64;

/** The processes above this one, the parent first. Empty where the system does not tell (Linux alone does). */
export function ancestors(): number[] {
  if (process.platform !== 'linux') return [];
  const found: number[] = [];
  for (let pid = process.ppid; pid > 1 && found.length < MAX_GENERATIONS; pid = parentOf(pid)) found.push(pid);
  return found;
}

/** The parent of a process, 0 where there is none or nobody tells. */
function parentOf(pid: number): number {
  return Number(statFields(pid)[1] ?? 0);
}

/**
 * The process that stands for this one's session: the one that began it, as a terminal's shell did. Where that one
 * lies outside this process namespace, as it does where a container is entered, the topmost process in here that
 * belongs to the session. The parent where the system does not tell.
 */
export function sessionLeader(sessionOf: (pid: number) => number | null = ownSessionOf): number {
  const leader = sessionOf(process.pid);
  if (leader === null) return process.ppid;
  if (leader > 0) return leader;
  let top = process.pid;
  for (const pid of [...ancestors(), 1]) {
    if (sessionOf(pid) !== OUTSIDE) break;
    top = pid;
  }
  return top;
}

/** What the system calls a session that was begun outside this process namespace. */
const OUTSIDE = 0;

function ownSessionOf(pid: number): number | null {
  const session = statFields(pid)[3];
  return session === undefined ? null : Number(session);
}

/** The variables that a process was started with, each as NAME=value; none where the system does not tell. */
export function environmentOf(pid: number): string[] {
  try {
    return procIsOurs() ? readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0') : [];
  } catch {
    return []; // gone, or another user's
  }
}

/** Behind the process's name, which may hold brackets and spaces: state, parent, group, session. */
function statFields(pid: number): string[] {
  try {
    if (!procIsOurs()) return [];
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return []; // gone, another user's, or no such system
  }
}

/**
 * Whether this process descends from the shell of a loop's own client, or from the command that a runner has for an
 * agent, whatever it has done to its environment since: an ancestor was started with a RALPH_LOOP_ID and with
 * CLAUDECODE=1 or RALPH_DRIVER=runner. Only Linux tells; elsewhere the answer is no.
 * A process that detaches itself from its ancestors is not seen.
 */
export function insideLoopsClient(): boolean {
  return ancestors().some((pid) => {
    const variables = environmentOf(pid);
    const agents = variables.includes('CLAUDECODE=1') || variables.includes('RALPH_DRIVER=runner');
    return agents && variables.some((entry) => /^RALPH_LOOP_ID=./.test(entry));
  });
}
