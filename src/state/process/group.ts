import { type ChildProcess, type SpawnOptions, spawn, spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import type { Socket } from 'node:net';
import { isAbsolute } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { canStart } from './find-program.ts';
import { ifProcHides, procIsOurs, statFields } from './identity.ts';

const GRACE_MS = 2_000;
const AFTER_KILL_MS = 500;
const POLL_MS = 20;

/** Running groups, each with the function that ends its watch. */
const running = new Map<number, () => void>();

function endAllAtOnce(): void {
  for (const leader of running.keys()) signalGroup(leader, 'SIGKILL');
}

interface GroupOptions extends Pick<SpawnOptions, 'cwd' | 'env'> {
  readonly stdio: readonly ('ignore' | 'pipe')[];
}

/**
 * Starts a process that leads its own group, and ends that group with this process until `forgetGroup`. It ends even if
 * this process gets SIGKILL, at any moment from its start on (not on Windows).
 */
export function spawnGroup(program: string, words: readonly string[], options: GroupOptions): ChildProcess {
  const isWindows = process.platform === 'win32';
  // Started before the child: nothing would end the child if this process were killed between the two.
  const watch = isWindows ? null : startWatch();
  const endWatch = (): void => void watch?.kill('SIGKILL');
  try {
    const gated = watch?.pid === undefined ? null : startBehindGate(program, words, options);
    const child = gated ?? start(program, words, options, options.stdio);
    const { pid } = child;
    if (pid === undefined) {
      endWatch();
      return child;
    }
    watch?.stdin?.write(`${pid}\n`);
    if (gated !== null) openGate(gated);
    if (running.size === 0) process.on('exit', endAllAtOnce);
    running.set(pid, endWatch);
    return child;
  } catch (error) {
    endWatch();
    throw error;
  }
}

function start(
  program: string,
  words: readonly string[],
  { cwd, env }: GroupOptions,
  stdio: GroupOptions['stdio'],
): ChildProcess {
  const detached = process.platform !== 'win32';
  return spawn(program, words, { cwd, env, stdio: [...stdio], detached, windowsHide: true });
}

/** Becomes the program once its watch knows it. Exits at the end of the pipe: the process there was killed. */
const GATE = 'read -r ralph_gate <&3 || exit 0; exec "$0" "$@" 3<&-';
/** A shell may drop variables with other names, such as functions exported by bash. */
const PLAIN_NAME = /^[A-Za-z_]\w*$/;
/** Variables that would make the gate's shell fail or run nothing, or that it would not pass on unchanged. */
const OBEYED = ['OPTIND', 'SHELLOPTS'];

/**
 * Starts a program that waits for `openGate` and keeps its process id. Returns null if the start fails or if a shell would
 * change something: the start without a gate then reports the system's own error.
 */
function startBehindGate(program: string, words: readonly string[], options: GroupOptions): ChildProcess | null {
  const { env = process.env } = options;
  if (OBEYED.some((name) => env[name] !== undefined)) return null;
  const isPlain = Object.keys(env).every((name) => PLAIN_NAME.test(name));
  // Without its options, bash would read functions, the file in BASH_ENV, and .bashrc (node's pipes are sockets).
  const [shell, ...first] = isPlain ? ['/bin/sh'] : ['/bin/bash', '--norc', '-p'];
  if (!isAbsolute(program) || !canStart(program)) return null;
  try {
    const child = start(shell, [...first, '-c', GATE, program, ...words], options, [...options.stdio, 'pipe']);
    child.stdio[3]?.on('error', () => undefined);
    if (child.pid !== undefined) return child;
    child.on('error', () => undefined);
  } catch {
    // The start without a gate throws the same error.
  }
  return null;
}

function openGate(child: ChildProcess): void {
  const pipe = child.stdio[3] as Socket;
  pipe.end('\n', () => pipe.destroy());
}

/** Ends the watch of a group. Call this once the group has ended, since the system may reuse its number. */
export function forgetGroup(leader: number): void {
  running.get(leader)?.();
  if (running.delete(leader) && running.size === 0) process.off('exit', endAllAtOnce);
}

/** Ends every process of the group, with SIGKILL after two seconds. Resolves once all have ended. */
export async function endGroup(leader: number): Promise<void> {
  if (!signalGroup(leader, 'SIGTERM')) return;
  if (await gone(leader, GRACE_MS)) return;
  signalGroup(leader, 'SIGKILL');
  // Does not wait forever for a process that is never reaped or hangs in the kernel.
  await gone(leader, AFTER_KILL_MS);
}

export function groupLives(leader: number): boolean {
  if (process.platform === 'win32' || !signalGroup(leader, 0)) return false;
  // If /proc belongs to another process namespace, trust the signal.
  return !procIsOurs() || hasRunningMember(leader);
}

/** Ignores zombies: in a container whose first process does not reap them, each command would wait out the grace period. */
function hasRunningMember(leader: number): boolean {
  const names = ifProcHides(() => readdirSync('/proc'), null);
  if (names === null) return true; // no /proc here: trust the signal
  return names.some((name) => {
    const [state, , group] = /^\d+$/.test(name) ? statFields(name) : [];
    return Number(group) === leader && state !== 'Z' && state !== 'X';
  });
}

async function gone(leader: number, within: number): Promise<boolean> {
  for (const end = Date.now() + within; Date.now() < end; ) {
    if (!groupLives(leader)) return true;
    await sleep(POLL_MS);
  }
  return !groupLives(leader);
}

/** Sends a signal to the group. Returns false if no process is left. */
export function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  if (process.platform === 'win32') {
    // Windows has neither a group nor a graceful way: the whole tree ends at once.
    if (signal !== 0) spawnSync('taskkill', ['/pid', String(leader), '/T', '/F'], { windowsHide: true });
    return false;
  }
  try {
    process.kill(-leader, signal);
    return true;
  } catch (error) {
    // EPERM: a process of the group has changed its user; it exists, but we may not end it.
    return (error as NodeJS.ErrnoException).code === 'EPERM' && signal !== 'SIGKILL';
  }
}

/** Ends a group, first with SIGTERM, at the end of its input, when the process at the other end has exited. */
const SCRIPT =
  'read -r g || exit 0; read -r _; kill -s TERM -- "-$g" 2>/dev/null || exit 0; n=0; ' +
  'while [ $n -lt 20 ]; do sleep 0.1; kill -s 0 -- "-$g" 2>/dev/null || exit 0; n=$((n + 1)); done; ' +
  'kill -s KILL -- "-$g" 2>/dev/null';

function startWatch(): ChildProcess {
  // In its own session, so that whatever ends our group or the terminal does not end the watch.
  const watch: ChildProcess = spawn('/bin/sh', ['-c', SCRIPT, 'ralph-watch'], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  // Without a shell there is no watch; the group still ends unless this process gets SIGKILL.
  watch.on('error', () => undefined);
  watch.stdin?.on('error', () => undefined);
  watch.unref();
  return watch;
}
