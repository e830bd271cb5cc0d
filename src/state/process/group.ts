import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { orElse } from '../../text/or-else.ts';
import { procIsOurs, statFields } from './identity.ts';

const GRACE_MS = 2_000;
const AFTER_KILL_MS = 500;
const POLL_MS = 20;

/** Groups that are running, each with the function that ends its watch. */
const running = new Map<number, () => void>();

function endAllAtOnce(): void {
  for (const leader of running.keys()) signalGroup(leader, 'SIGKILL');
}

/**
 * Starts a process that leads a group of its own. The group ends when our process ends, even by SIGKILL (not on Windows),
 * until `forgetGroup`. Throws what `spawn` throws.
 */
export function spawnGroup(program: string, words: readonly string[], options: SpawnOptions): ChildProcess {
  const isWindows = process.platform === 'win32';
  // Before the child: nothing would end it if this process were killed between the two.
  const watch = isWindows ? null : startWatch();
  const endWatch = (): void => void watch?.kill('SIGKILL');
  try {
    const child = spawn(program, words, { ...options, detached: !isWindows, windowsHide: true });
    const { pid } = child;
    if (pid === undefined) {
      endWatch();
      return child;
    }
    watch?.stdin?.write(`${pid}\n`);
    if (running.size === 0) process.on('exit', endAllAtOnce);
    running.set(pid, endWatch);
    return child;
  } catch (error) {
    endWatch();
    throw error;
  }
}

/** To be called once the group has ended: the system may reuse its number. */
export function forgetGroup(leader: number): void {
  running.get(leader)?.();
  if (running.delete(leader) && running.size === 0) process.off('exit', endAllAtOnce);
}

/** Ends every process of the group, by SIGKILL those that have not ended after two seconds. Resolves once they are gone. */
export async function endGroup(leader: number): Promise<void> {
  if (!signalGroup(leader, 'SIGTERM')) return;
  if (await gone(leader, GRACE_MS)) return;
  signalGroup(leader, 'SIGKILL');
  // A process that is never reaped, or that hangs in the kernel, is not waited for.
  await gone(leader, AFTER_KILL_MS);
}

/** Returns true while a process of the group runs. */
export function groupLives(leader: number): boolean {
  if (process.platform === 'win32' || !signalGroup(leader, 0)) return false;
  // If /proc is of another process namespace, believe the signal.
  return !procIsOurs() || hasRunningMember(leader);
}

/** Ignores zombies: in a container whose first process reaps none, each command would wait the whole grace for them. */
function hasRunningMember(leader: number): boolean {
  const names = orElse(() => readdirSync('/proc'), null);
  if (names === null) return true; // no /proc here: believe the signal
  return names.some((name) => {
    const [state, , group] = /^\d+$/.test(name) ? statFields(name) : [];
    return Number(group) === leader && state !== 'Z' && state !== 'X';
  });
}

async function gone(leader: number, within: number): Promise<boolean> {
  for (const end = Date.now() + within; Date.now() < end; ) {
    if (!groupLives(leader)) return true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return !groupLives(leader);
}

/** Returns false if no process is left. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  if (process.platform === 'win32') {
    // There is no group and no polite way: the whole tree ends at once.
    if (signal !== 0) spawnSync('taskkill', ['/pid', String(leader), '/T', '/F'], { windowsHide: true });
    return false;
  }
  try {
    process.kill(-leader, signal);
    return true;
  } catch (error) {
    // EPERM: a process of the group changed its user; it exists, and is not ours to end.
    return (error as NodeJS.ErrnoException).code === 'EPERM' && signal !== 'SIGKILL';
  }
}

/** Ends the group that it reads, with SIGTERM first, at the end of its input: the process that holds the other end has ended. */
const SCRIPT =
  'read -r g || exit 0; read -r _; kill -s TERM -- "-$g" 2>/dev/null || exit 0; n=0; ' +
  'while [ $n -lt 20 ]; do sleep 0.1; kill -s 0 -- "-$g" 2>/dev/null || exit 0; n=$((n + 1)); done; ' +
  'kill -s KILL -- "-$g" 2>/dev/null';

function startWatch(): ChildProcess {
  // In a session of its own: what ends our group, or the terminal, must not end the watch.
  const watch: ChildProcess = spawn('/bin/sh', ['-c', SCRIPT, 'ralph-watch'], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without a shell there is no watch; all but a SIGKILL of this process still end the group.
  watch.on('error', () => undefined);
  watch.stdin?.on('error', () => undefined);
  watch.unref();
  return watch;
}
