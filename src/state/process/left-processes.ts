import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import { oneLine } from '../../text/excerpt.ts';
import { environmentOf } from './ancestors.ts';
import { identityOf, isAlive, type ProcessIdentity, procIsOurs } from './identity.ts';

interface LeftProcess extends ProcessIdentity {
  /** Its words, which may hold secrets. */
  readonly command: string;
}

/** Lists what the agent of a loop has started and still runs, also in a group or session of its own. Linux only; else empty. */
export function leftProcesses(loopId: string): LeftProcess[] {
  if (!procIsOurs()) return [];
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isAgents(environmentOf(pid), loopId))
    .map((pid) => ({ ...identityOf(pid), command: commandOf(pid) }));
}

/** Returns whether a process has the variables of an agent's shell: the client, its servers and hooks have others. */
function isAgents(variables: readonly string[], loopId: string): boolean {
  return variables.includes(`RALPH_LOOP_ID=${loopId}`) && variables.includes('RALPH_ACTIVE=0');
}

function commandOf(pid: number): string {
  try {
    return oneLine(readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' '));
  } catch (error) {
    // It has just ended.
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'ESRCH') throw error;
    return '';
  }
}

const GRACE_MS = 2_000;
const POLL_MS = 50;

/** Ends these processes: by SIGTERM, and after two seconds by SIGKILL. */
export async function endProcesses(left: readonly ProcessIdentity[]): Promise<void> {
  signal(left, 'SIGTERM');
  for (const until = Date.now() + GRACE_MS; Date.now() < until && left.some(isAlive); ) await setTimeout(POLL_MS);
  signal(left, 'SIGKILL');
}

function signal(processes: readonly ProcessIdentity[], name: NodeJS.Signals): void {
  for (const { pid } of processes.filter(isAlive)) {
    try {
      process.kill(pid, name);
    } catch (error) {
      // It has just ended, or has become another user's.
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ESRCH' && code !== 'EPERM') throw error;
    }
  }
}
