import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { procIsOurs } from './identity.ts';

const GRACE_MS = 2_000;
const AFTER_KILL_MS = 500;
const POLL_MS = 20;

/** Groups that run now, each with what calls its watch off. Whatever ends this process ends them too. */
const running = new Map<number, () => void>();

function endAllAtOnce(): void {
  for (const leader of running.keys()) signalGroup(leader, 'SIGKILL');
}

/**
 * Has this child's group ended with our own process, even where that is killed, until `forgetGroup`. The child must
 * lead a group of its own.
 */
export function rememberGroup(leader: number): void {
  if (running.size === 0) process.on('exit', endAllAtOnce);
  running.set(leader, watchParent(leader));
}

/** To be called as soon as the group is gone: its number may be given to another one. */
export function forgetGroup(leader: number): void {
  running.get(leader)?.();
  if (running.delete(leader) && running.size === 0) process.off('exit', endAllAtOnce);
}

/** Asks every process of the group to end, and makes those end that have not after two seconds. Resolves once they are gone. */
export async function endGroup(leader: number): Promise<void> {
  if (!signalGroup(leader, 'SIGTERM')) return;
  if (await gone(leader, GRACE_MS)) return;
  signalGroup(leader, 'SIGKILL');
  // A process that nobody reaps, or that hangs in the kernel, is not waited for.
  await gone(leader, AFTER_KILL_MS);
}

/** true while a process of the group runs. */
export function groupLives(leader: number): boolean {
  if (process.platform === 'win32' || !signalGroup(leader, 0)) return false;
  // Where /proc counts processes otherwise than we do, nobody in it is of our group: believe the signal.
  return !procIsOurs() || hasRunningMember(leader);
}

/**
 * In a container whose first process reaps nobody, orphans that have ended stay in their group as zombies: waiting for
 * them would cost each command the whole grace.
 */
function hasRunningMember(leader: number): boolean {
  let processes: string[];
  try {
    processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return true; // no /proc here: believe the signal
  }
  return processes.some((pid) => {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      // The command's name stands in brackets and may hold brackets and spaces itself; fields count from its end.
      const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ', 3);
      return Number(group) === leader && state !== 'Z' && state !== 'X';
    } catch {
      return false; // it has just gone
    }
  });
}

async function gone(leader: number, within: number): Promise<boolean> {
  for (const end = Date.now() + within; Date.now() < end; ) {
    if (!groupLives(leader)) return true;
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return !groupLives(leader);
}

/** false when there is no process left to tell. */
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
    // EPERM: somebody of the group changed its user; it is there, and not ours to end.
    return (error as NodeJS.ErrnoException).code === 'EPERM' && signal !== 'SIGKILL';
  }
}

/**
 * Waits for the end of its input, which comes when the process that holds the other end is gone, however it went: then
 * it ends the group, politely first. The group itself would not notice: a client works on at the end of its input
 * (measured), and a command has none.
 */
const SCRIPT =
  'read -r _; kill -s TERM -- "-$1" 2>/dev/null || exit 0; n=0; ' +
  'while [ $n -lt 20 ]; do sleep 0.1; kill -s 0 -- "-$1" 2>/dev/null || exit 0; n=$((n + 1)); done; ' +
  'kill -s KILL -- "-$1" 2>/dev/null';

/**
 * Has a process group end with this process, even where that is killed. Gives back what calls the watch off: call it
 * as soon as the group is gone, since its number may be given to another one. Nothing is watched on Windows.
 */
export function watchParent(leader: number): () => void {
  if (process.platform === 'win32') return () => undefined;
  // In a session of its own: what ends our group, or the terminal, must not end the watch.
  const watch: ChildProcess = spawn('/bin/sh', ['-c', SCRIPT, 'ralph-watch', String(leader)], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without a shell there is no watch; the group is then ended by all but a SIGKILL of this process.
  watch.on('error', () => undefined);
  watch.stdin?.on('error', () => undefined);
  watch.unref();
  return () => void watch.kill('SIGKILL');
}
