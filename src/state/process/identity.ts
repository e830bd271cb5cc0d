import { readFileSync, readlinkSync } from 'node:fs';

/** A process told apart from any other that ever had its number. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The system's own start time of the process (Linux: clock ticks since boot, with the boot's id), or null. */
  readonly startedAt: string | null;
}

/** The identity of a process that lives now; `startedAt` is null where the system does not tell cheaply. */
export function identityOf(pid: number): ProcessIdentity {
  const startedAt = startTime(pid);
  return { pid, startedAt: startedAt === ZOMBIE ? null : startedAt };
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
  // 0 and negative numbers name process groups: asking for them would find this very process.
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it lives, but belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

function startTime(pid: number): string | null {
  try {
    if (!procIsOurs()) return null;
    // utf8 is read by one native call, any other encoding costs a cold hook 0.4 ms more.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The command name stands in brackets and may itself hold brackets and spaces; fields count from its end.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return ZOMBIE;
    return fields[19] === undefined ? null : `${bootId()}:${fields[19]}`;
  } catch {
    return null; // the process has just gone, or may not be looked at
  }
}

let knownAsOurs = false;

/** Whether /proc counts processes as we do. A process namespace without a /proc of its own sees its parent's numbers. */
export function procIsOurs(): boolean {
  knownAsOurs ||= procLink('self') === String(process.pid);
  return knownAsOurs;
}

let knownBootId: string | null = null;

/** Differs after every start of the machine; empty where the system has no such thing. */
export function bootId(): string {
  knownBootId ??= orNull(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8));
  return knownBootId ?? '';
}

/** Where a link of /proc points to, or null where there is no such thing. */
export function procLink(name: string): string | null {
  return process.platform === 'linux' ? orNull(() => readlinkSync(`/proc/${name}`)) : null;
}

/** No /proc, or one that may not be looked at, is an answer; any other failure is told. */
function orNull(read: () => string): string | null {
  try {
    return read();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'EACCES' || code === 'EPERM') return null;
    throw error;
  }
}

/** Linux counts in hundredths of a second. */
const TICK_MS = 10;
/** A shell that becomes node by `exec` is this very process; under load it can stand in the queue for long. */
const MOST_BEFORE_NODE_MS = 120_000;

/**
 * When the client started this process, in epoch milliseconds, give or take a few hundredths of a second: where the
 * system tells, before a shell became node; elsewhere, when node began.
 */
export function ownStart(): number {
  const node = Date.now() - process.uptime() * 1000;
  const first = beganAt(identityOf(process.pid).startedAt);
  // No number, or a container that counts its uptime from another moment than its processes.
  return first <= node && first > node - MOST_BEFORE_NODE_MS ? first : node;
}

/** When a process with this start time (process-identity.ts) began, in epoch milliseconds; NaN where nobody tells. */
export function beganAt(startedAt: string | null): number {
  return Date.now() - uptimeMs() + Number(startedAt?.split(':')[1]) * TICK_MS;
}

/** NaN where there is no /proc. Loading node:os to be told the same costs a hook a tenth of a millisecond. */
function uptimeMs(): number {
  try {
    return Number.parseFloat(readFileSync('/proc/uptime', 'utf8')) * 1000;
  } catch {
    return Number.NaN;
  }
}
