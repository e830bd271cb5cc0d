import { statSync } from 'node:fs';
import { join } from 'node:path';
import { watchQueue } from '../../claude/queued-messages.ts';
import { readState } from '../../state/read-state.ts';
import type { HookContext } from './context.ts';

/** Reacts within half a second, at a cost well under 0.2 % of a core. */
const POLL_MS = 330;

export type WaitEnd = 'elapsed' | 'changed' | 'message' | 'notification' | 'deadline' | 'state-changed' | 'aborted';

export interface Wait {
  /** Epoch milliseconds. */
  readonly until: number;
  /** The hook must have answered before: epoch milliseconds. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** Relative path of a file whose change ends the wait, or null. */
  readonly taskPath: string | null;
  /** Ids of background tasks whose end ends the wait, even one that came before it. */
  readonly tasks?: readonly string[];
}

/**
 * Sleeps until the time has come, or something ends the wait early: the loop's state was changed by somebody, the task
 * file changed, the client queued a message, the hook was told to go. Holds no lock and writes nothing.
 */
export async function waitOut(context: HookContext, wait: Wait): Promise<WaitEnd> {
  const { files, input } = context;
  const taskFile = wait.taskPath === null ? null : join(files.projectDir, wait.taskPath);
  const queue = watchQueue(input.transcriptPath, wait.tasks);
  const task = taskFile === null ? '' : stamp(taskFile);
  let state = stamp(files.state);
  const before = readState(files.state);
  for (;;) {
    if (wait.signal.aborted) return 'aborted';
    const left = Math.min(wait.until, wait.deadline) - Date.now();
    if (left <= 0) return wait.until <= wait.deadline ? 'elapsed' : 'deadline';
    await sleep(Math.min(left, POLL_MS), wait.signal);
    const queued = queue();
    if (queued !== null) return queued;
    if (taskFile !== null && stamp(taskFile) !== task) return 'changed';
    const now = stamp(files.state);
    if (now === state) continue;
    state = now;
    if (changesTheWait(before, readState(files.state))) return 'state-changed';
  }
}

/** Steering for the next prompt and the like change the file, not the wait. */
function changesTheWait(before: ReturnType<typeof readState>, now: ReturnType<typeof readState>): boolean {
  if (before.kind !== 'loop' || now.kind !== 'loop' || before.state.status !== now.state.status) return true;
  if (before.state.stopRequested !== now.state.stopRequested || before.state.loopId !== now.state.loopId) return true;
  if (before.state.status !== 'waiting' || now.state.status !== 'waiting') return false;
  return (
    before.state.waiting.woken !== now.state.waiting.woken || before.state.waiting.until !== now.state.waiting.until
  );
}

function stamp(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? '' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
}

function sleep(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(finish, milliseconds);
    signal.addEventListener('abort', finish, { once: true });
    function finish(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    }
  });
}
