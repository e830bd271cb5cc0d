import { readFileSync } from 'node:fs';

/** A process told apart from any other that ever had its number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The system's own start time of the process (Linux: clock ticks since boot, with the boot's id), or null. */
  readonly startedAt: string | null;
}

/** The identity of a process that lives now; `startedAt` is null where the system does not tell cheaply. */
export function identityOf(pid: number): ProcessIdentity {
  return { pid, startedAt: startTime(pid) };
}

/**
 * Whether that very process still lives. Where no start time is known the number alone decides, which can take a
 * recycled number for the old process: it then looks alive, the careful answer.
 */
export function isAlive(identity: ProcessIdentity): boolean {
  if (!pidExists(identity.pid)) return false;
  const now = startTime(identity.pid);
  if (now === ZOMBIE) return false;
  return identity.startedAt === null || now === null || now === identity.startedAt;
}

const ZOMBIE = 'zombie';

function pidExists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, but belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function startTime(pid: number): string | null {
  if (process.platform !== 'linux') return null;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The command name stands in brackets and may itself hold brackets and spaces; fields count from its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return ZOMBIE;
    return fields[19] === undefined ? null : `${bootId()}:${fields[19]}`;
  } catch {
    return null; // /proc is not mounted, or the process has just gone
  }
}

let knownBootId: string | undefined;

function bootId(): string {
  try {
    knownBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8);
  } catch {
    knownBootId = '';
  }
  return knownBootId;
}
