import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * Runs a command, which gets the signals that end this process, and SIGTERM when `stop` is aborted. Returns its exit code,
 * 1 for one that could not be started or was ended by a signal.
 */
export function runForwarding(command, args, options = { stdio: 'inherit' }, stop) {
  return new Promise((done) => {
    const child = spawn(command, args, options);
    const forward = (signal) => child.kill(signal);
    const end = (code) => {
      for (const signal of ENDING) process.off(signal, forward);
      done(code ?? 1);
    };
    for (const signal of ENDING) process.on(signal, forward);
    stop?.addEventListener('abort', () => child.kill('SIGTERM'), { once: true });
    child.once('error', () => end(1));
    child.once('close', end);
  });
}

/**
 * Returns the processes that this one has started and those started by them. In a mount namespace of its own these are all
 * that are in it, also those whose parent has ended.
 */
export function startedHere() {
  const all = processes();
  const own = namespaceOf('self');
  if (own !== null && own !== namespaceOf(process.ppid))
    return all.map(({ pid }) => pid).filter((pid) => pid !== process.pid && namespaceOf(pid) === own);
  const found = new Set([process.pid]);
  // A set gives its new members to the loop that reads it.
  for (const pid of found) for (const each of all) if (each.parent === pid) found.add(each.pid);
  return [...found].filter((pid) => pid !== process.pid);
}

/** Ends processes; one may have ended meanwhile. */
export function endAll(pids) {
  for (const pid of pids) orNull(() => process.kill(pid, 'SIGKILL'));
}

function processes() {
  const names = orNull(() => readdirSync('/proc')) ?? [];
  return names
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      const fields = orNull(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
        ?.replace(/^.*\) /s, '')
        .split(' ');
      return fields === undefined ? [] : [{ pid: Number(pid), parent: Number(fields[1]) }];
    });
}

function namespaceOf(pid) {
  return orNull(() => readlinkSync(`/proc/${pid}/ns/mnt`));
}

/** A process may end while it is looked at, and not every system has /proc. */
function orNull(read) {
  try {
    return read();
  } catch {
    return null;
  }
}
