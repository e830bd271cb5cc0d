import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { commandOf, ifProcHides, procIsOurs, procLink, statFields } from './identity.ts';

/** Maximum depth, more than shells are ever nested. */
const MAX_GENERATIONS = 64;

/** Returns the ids of the ancestors of a process, by default this one, the parent first; empty except on Linux. */
export function ancestors(of = process.pid): number[] {
  if (process.platform !== 'linux') return [];
  const found: number[] = [];
  for (
    let pid = of === process.pid ? process.ppid : parentOf(of);
    pid > 1 && found.length < MAX_GENERATIONS;
    pid = parentOf(pid)
  )
    found.push(pid);
  return found;
}

/** Returns the command lines of the ancestors of this process, the parent's first. Linux only; else empty. */
export const commandsAbove = (): string[][] => ancestors().map(commandOf);

/** Returns the parent of a process, 0 if there is none or it is unknown. */
const parentOf = (pid: number): number => Number(statFields(pid)[1] ?? 0);

/**
 * Returns the leader of this process's session, such as a terminal's shell. If it is outside this process namespace (as
 * after entering a container), returns the session's topmost process inside; if it is unknown, the parent.
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

/** Session id of a session that began outside this process namespace. */
const OUTSIDE = 0;

function ownSessionOf(pid: number): number | null {
  const session = statFields(pid)[3];
  return session === undefined ? null : Number(session);
}

/** Lists the variables with which a process was started, as NAME=value; empty if unknown. */
export function environmentOf(pid: number): string[] {
  return procIsOurs() ? ifProcHides(() => readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0'), []) : [];
}

/**
 * Returns whether an ancestor has the environment of a loop's agent, whatever our own says. `shells`: names of the
 * variables that are 1 in an agent's shell. Linux only.
 */
export function insideLoopsClient(shells: readonly string[], above = ancestors()): boolean {
  return above.some((pid) => {
    const variables = environmentOf(pid);
    const agents = ['RALPH_DRIVER=runner', ...shells.map((name) => `${name}=1`)].some((each) =>
      variables.includes(each),
    );
    return agents && variables.some((entry) => /^RALPH_LOOP_ID=./.test(entry));
  });
}

const PTY_MAJORS = { first: 136, last: 143 };
const CONSOLE_MAJOR = 4;

/** Returns the controlling terminal of a process, such as `/dev/pts/3`; null if there is none or it is unknown. */
export function terminalOf(pid: number): string | null {
  if (process.platform === 'linux') return deviceName(Number(statFields(pid)[4] ?? 0));
  if (process.platform === 'win32') return null;
  const { error, stdout } = spawnSync('ps', ['-o', 'tty=', '-p', String(pid)], { encoding: 'utf8' });
  if (error !== undefined && (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  // There is no output without `ps`, or for a process that has ended.
  const name = (stdout ?? '').trim();
  return name === '' || name.startsWith('?') ? null : `/dev/${name}`;
}

/** Returns a device's name from its number in /proc (minor's low byte, major, rest of the minor); null if unknown. */
function deviceName(device: number): string | null {
  const [major, minor] = [(device >> 8) & 0xfff, (device & 0xff) | ((device >>> 12) & 0xfff00)];
  if (device === 0) return null;
  if (major >= PTY_MAJORS.first && major <= PTY_MAJORS.last)
    return `/dev/pts/${(major - PTY_MAJORS.first) * 256 + minor}`;
  return major === CONSOLE_MAJOR ? `/dev/tty${minor}` : `device ${major}:${minor}`;
}

/** Returns this process and its ancestors, as `name (pid)`; names are known on Linux only. */
export function processChain(): string[] {
  return [process.pid, ...ancestors()].map((pid) => `${nameOf(pid)} (${pid})`);
}

function nameOf(pid: number): string {
  const name = ifProcHides(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), 'process');
  // Node.js 24 puts the name of its first thread there.
  return name.endsWith('MainThread') ? basename(procLink(`${pid}/exe`) ?? 'node') : name;
}
