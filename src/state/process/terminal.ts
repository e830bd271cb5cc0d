import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { orElse } from '../../text/or-else.ts';
import { ancestors } from './ancestors.ts';
import { statFields } from './identity.ts';

const PTY_MAJORS = { first: 136, last: 143 };
const CONSOLE_MAJOR = 4;

/** Returns the controlling terminal of a process, such as `/dev/pts/3`; null if it has none or is unknown. */
export function terminalOf(pid: number): string | null {
  if (process.platform === 'linux') return deviceName(Number(statFields(pid)[4] ?? 0));
  if (process.platform === 'win32') return null;
  // The process may have ended.
  const name = orElse(() => execFileSync('ps', ['-o', 'tty=', '-p', String(pid)], { encoding: 'utf8' }).trim(), '');
  return name === '' || name.startsWith('?') ? null : `/dev/${name}`;
}

/** Names a device by its number as /proc shows it: the minor number's low byte, the major number, the rest. */
function deviceName(device: number): string | null {
  const [major, minor] = [(device >> 8) & 0xfff, (device & 0xff) | ((device >>> 12) & 0xfff00)];
  if (device === 0) return null;
  if (major >= PTY_MAJORS.first && major <= PTY_MAJORS.last)
    return `/dev/pts/${(major - PTY_MAJORS.first) * 256 + minor}`;
  return major === CONSOLE_MAJOR ? `/dev/tty${minor}` : `device ${major}:${minor}`;
}

/** Returns this process and those above it, as `name (pid)`; the names are known on Linux only. */
export function processChain(): string[] {
  return [process.pid, ...ancestors()].map((pid) => `${nameOf(pid)} (${pid})`);
}

function nameOf(pid: number): string {
  return orElse(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim(), 'process');
}
