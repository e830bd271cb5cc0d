import { type ChildProcess, spawn } from 'node:child_process';

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
