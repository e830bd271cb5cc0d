import { readFileSync } from 'node:fs';

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
export function parentOf(pid: number): number {
  return Number(statFields(pid)[1] ?? 0);
}

/** The process that began this one's session, as a terminal's shell did; the parent where the system does not tell. */
export function sessionLeader(): number {
  const leader = Number(statFields(process.pid)[3] ?? 0);
  return leader > 0 ? leader : process.ppid;
}

/** Behind the process's name, which may hold brackets and spaces: state, parent, group, session. */
function statFields(pid: number): string[] {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  } catch {
    return []; // gone, another user's, or no such system
  }
}
