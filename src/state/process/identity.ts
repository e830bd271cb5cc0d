import { readFileSync, readlinkSync } from 'node:fs';

/** Identity of a process, unique even if its number is reused. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time of the process as the system reports it (Linux: clock ticks since boot, with the boot's id), or null. */
  readonly startedAt: string | null;
}

/** Identifies a running process; `startedAt` is null if the system does not report it cheaply. */
export function identityOf(pid: number): ProcessIdentity {
  const startedAt = startTime(pid);
  return { pid, startedAt: startedAt === ZOMBIE ? null : startedAt };
}

/** Returns whether exactly this process is running. Without a start time, a reused number counts as running. */
export function isAlive(identity: ProcessIdentity): boolean {
  if (!pidExists(identity.pid)) return false;
  const now = startTime(identity.pid);
  if (now === ZOMBIE) return false;
  return identity.startedAt === null || now === null || now === identity.startedAt;
}

const ZOMBIE = 'zombie';

function pidExists(pid: number): boolean {
  // 0 and negative numbers are process groups.
  if (!Number.isInteger(pid) || pid <= 0) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: it is running, as another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Sends a signal to a process, unless it has just ended or now belongs to another user. */
export function signalTo(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}

function startTime(pid: number): string | null {
  const fields = statFields(pid);
  if (fields[0] === 'Z' || fields[0] === 'X') return ZOMBIE;
  return fields[19] === undefined ? null : `${bootId()}:${fields[19]}`;
}

/** Returns the fields of /proc/PID/stat after the process's name: state, parent, group, session and so on; empty if unknown. */
export function statFields(pid: number | string): string[] {
  // utf8 is read by one native call; other encodings cost a cold hook 0.4 ms more. The process may just have ended.
  const stat = procIsOurs() ? ifProcHides(() => readFileSync(`/proc/${pid}/stat`, 'utf8'), null) : null;
  // The command's name in parentheses may contain parentheses and spaces: fields count from its end.
  return stat === null ? [] : stat.slice(stat.lastIndexOf(')') + 2).split(' ');
}

let knownAsOurs = false;

/** Returns whether /proc shows our process namespace: a namespace without its own /proc sees its parent's numbers. */
export function procIsOurs(): boolean {
  knownAsOurs ||= procLink('self') === String(process.pid);
  return knownAsOurs;
}

/** Returns the words of a process's command line; a single one if it has renamed itself. Linux only; else empty. */
export function commandOf(pid: number): string[] {
  return procIsOurs() ? ifProcHides(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0'), []) : [];
}

let knownBootId: string | null = null;

/** Returns an id that changes with every boot of the machine; empty if there is none. */
export function bootId(): string {
  knownBootId ??= ifProcHides(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8), null);
  return knownBootId ?? '';
}

export function procLink(name: string): string | null {
  return process.platform === 'linux' ? ifProcHides(() => readlinkSync(`/proc/${name}`), null) : null;
}

/** Codes for what /proc does not show: it does not exist, the process has ended, or it belongs to another user. */
const HIDDEN = new Set(['ENOENT', 'ENOTDIR', 'ESRCH', 'EINVAL', 'EACCES', 'EPERM']);

/** Returns what `read` finds in /proc, or `otherwise` if it is hidden. Throws every other error. */
export function ifProcHides<T, U>(read: () => T, otherwise: U): T | U {
  try {
    return read();
  } catch (error) {
    if (HIDDEN.has((error as NodeJS.ErrnoException).code ?? '')) return otherwise;
    throw error;
  }
}

/** Clock tick of Linux: a hundredth of a second. */
const TICK_MS = 10;
/** Longest plausible time, under load, until a shell becomes node by `exec`. */
const MOST_BEFORE_NODE_MS = 120_000;

/** Returns when the client started this process (epoch milliseconds), if possible before the shell became node. */
export function ownStart(): number {
  const node = Date.now() - process.uptime() * 1000;
  const ticks = Number(identityOf(process.pid).startedAt?.split(':')[1]);
  const first = Date.now() - uptimeMs() + ticks * TICK_MS;
  // NaN, or a container that counts its uptime and its processes from different moments.
  return first <= node && first > node - MOST_BEFORE_NODE_MS ? first : node;
}

/** Returns the milliseconds since the machine's boot, including its sleep; NaN if /proc does not say. */
export function uptimeMs(): number {
  // node:os reports the uptime as well, but loading it costs a hook a tenth of a millisecond.
  return Number.parseFloat(ifProcHides(() => readFileSync('/proc/uptime', 'utf8'), '')) * 1000;
}
