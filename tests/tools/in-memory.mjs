import { spawnSync } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { freemem, homedir, tmpdir } from 'node:os';
import { sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Memory that has to be free, and the most that temporary folders may take of it, in bytes. */
const NEEDED = 3 * 1024 ** 3;
const SIZE = 2 * 1024 ** 3;

/**
 * Returns the command that runs a command with a folder of temporary files of its own, in memory: a test waits for the
 * disk, in its own folder, for a fifth of its time. Returns the command itself where that needs rights or memory that are
 * missing, or where something that the tests use is in the folder that would be hidden.
 */
export function inMemory(command) {
  const folder = realpathSync(tmpdir()).replace(/\/$/, '');
  const named = Object.entries(process.env).flatMap(([name, path]) =>
    /^(?:RALPH|npm_config)_/i.test(name) ? path : [],
  );
  const used = [process.cwd(), process.execPath, homedir(), fileURLToPath(import.meta.url), ...named];
  const isHidden = used.some((path) => [path, realPath(path)].some((one) => `${one}${sep}`.startsWith(folder + sep)));
  // A container may have less than the machine.
  const free = Math.min(freemem(), process.availableMemory?.() ?? Number.POSITIVE_INFINITY);
  if (process.platform !== 'linux' || process.getuid() !== 0 || isHidden || free < NEEDED) return command;
  const mount = `mount -t tmpfs -o size=${SIZE},mode=1777 tmpfs "${folder}"`;
  const words = (then) => ['unshare', '--mount', 'sh', '-c', `${mount} && ${then}`, ...command];
  const [unshare, ...rest] = words('true');
  return spawnSync(unshare, rest, { stdio: 'ignore' }).status === 0 ? words('exec "$0" "$@"') : command;
}

/** A setting may name what is not there, or no path at all. */
function realPath(path) {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
