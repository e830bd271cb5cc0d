import { type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { LoopState } from '../../engine/schema/state.ts';
import { watchQueue } from '../../hosts/claude/transcript/queued-messages.ts';
import { ifOutOfReach } from '../../state/files/regular-file.ts';
import { type ReadState, readState } from '../../state/loop-files.ts';
import { BEAT_MS } from '../../state/task-folder/run-files.ts';
import { RalphError } from '../../text/message.ts';
import { parseDuration } from '../../text/time.ts';
import { projectionOf } from '../records/status-projection.ts';
import { HOOK_TEXTS } from './messages.ts';
import { type Dispatched, dispatch, handleAbort, type Turn } from './turn.ts';

/** Poll interval: reacts within half a second, at less than 0.2 % of a core. */
const POLL_MS = 330;

export type WaitEnd =
  | 'elapsed'
  | 'changed'
  | 'message'
  | 'command'
  | 'notification'
  | 'deadline'
  | 'state-changed'
  | 'aborted';

interface Wait {
  readonly until: number;
  /** Epoch milliseconds by which the driver must answer. */
  readonly deadline: number;
  readonly signal: AbortSignal;
  /** State as saved by the caller. Later changes by other processes count, even those made before this call. */
  readonly state: LoopState;
  /** Relative path of a file whose change ends the wait, or null. */
  readonly taskPath: string | null;
  /** Ids of background tasks whose end ends the wait, even if it came earlier. */
  readonly tasks?: readonly string[];
}

export async function waitStep(turn: Turn, until: string): Promise<Dispatched> {
  // The evidence for the next prompt has to be gathered within the same timeout.
  const commands = turn.loaded.stored?.contract.task?.commands ?? [];
  const evidenceMs = commands.reduce((sum, { timeoutSeconds }) => sum + timeoutSeconds * 1000, 0);
  const end = await waitInTurn(turn, until, turn.deadline - evidenceMs);
  if (end === 'aborted') return handleAbort(turn);
  const cause = end === 'state-changed' ? 'elapsed' : end === 'command' ? 'message' : end;
  const passed = dispatch(turn, { type: 'time-passed', at: turn.context.now(), cause, seen: null });
  return end === 'command' ? withCommandText(passed) : passed;
}

/** Tells the user that their command has ended the wait: the agent may get no turn after it, which would continue the loop. */
export function withCommandText({ turn, effects }: Dispatched): Dispatched {
  return { turn, effects: [{ type: 'notify', message: HOOK_TEXTS.commandRuns }, ...effects] };
}

export async function waitInTurn(turn: Turn, until: string, deadline: number): Promise<WaitEnd> {
  const { loaded, task, context } = turn;
  const { state } = loaded;
  const { files, now } = context;
  // A task edited between two iterations is read when the delay is over.
  const isPace = state.status === 'waiting' && state.waiting.why === 'pace';
  const heartbeat = task && setInterval(() => projectionOf(files, now(), task.contract).status(now()), BEAT_MS).unref();
  const taskPath = isPace ? null : state.taskPath;
  const end = await waitUntil(turn, { until: Date.parse(until), deadline, signal: turn.signal(), state, taskPath });
  if (heartbeat) clearInterval(heartbeat);
  return end;
}

/** Waits until a time, a change of the state, task or queue, or an abort. Holds no lock. */
export async function waitUntil(
  { context: { files }, transcriptPath }: Pick<Turn, 'context' | 'transcriptPath'>,
  wait: Wait,
): Promise<WaitEnd> {
  const taskFile = wait.taskPath === null ? null : join(files.projectDir, wait.taskPath);
  const leftNow = remainingMs(Math.min(wait.until, wait.deadline));
  const queue = watchQueue(transcriptPath, wait.tasks);
  const task = taskFile === null ? '' : stamp(taskFile);
  // Comparing polls alone would miss a change between the save and the first poll.
  if (taskFile !== null && modifiedSince(taskFile, wait.state)) return 'changed';
  // A missing state has an empty stamp, which differs from null.
  let state: string | null = null;
  // Consecutive waits of zero length would never let an abort through.
  await new Promise((resolve) => setImmediate(resolve));
  for (;;) {
    if (wait.signal.aborted) return 'aborted';
    const now = stamp(files.state);
    if (now !== state && changesTheWait(wait.state, readState(files.state))) return 'state-changed';
    state = now;
    const left = leftNow();
    if (left <= 0) return wait.until <= wait.deadline ? 'elapsed' : 'deadline';
    await setTimeout(Math.min(left, POLL_MS), undefined, { signal: wait.signal }).catch(() => undefined);
    const queued = queue();
    if (queued !== null) return queued;
    if (taskFile !== null && stamp(taskFile) !== task) return 'changed';
  }
}

/** Returns whether a change of the state ends the wait. Steering for the next prompt does not. */
function changesTheWait(before: LoopState, current: ReadState): boolean {
  if (current.kind !== 'loop') return true;
  const now = current.state;
  if (before.status !== now.status || before.loopId !== now.loopId) return true;
  if (before.stopRequested !== now.stopRequested) return true;
  if (before.status === 'paused' && now.status === 'paused') return before.paused.reason !== now.paused.reason;
  if (before.status !== 'waiting' || now.status !== 'waiting') return false;
  return before.waiting.woken !== now.waiting.woken || before.waiting.until !== now.waiting.until;
}

function modifiedSince(path: string, state: LoopState): boolean {
  if (state.status !== 'waiting') return false;
  const modified = statOf(path)?.mtimeMs;
  // A modification time in the future is ignored: it would end every wait at once. Date.now() has whole milliseconds.
  return modified !== undefined && modified > Date.parse(state.waiting.since) && modified < Date.now() + 1;
}

function stamp(path: string): string {
  const stat = statOf(path);
  return stat === undefined ? '' : `${stat.ino}:${stat.size}:${stat.mtimeMs}`;
}

/** Returns a file's stats. A missing file or an invalid path never changes. */
function statOf(path: string): Stats | undefined {
  return ifOutOfReach(() => statSync(path), undefined);
}

/** Returns a function that measures the milliseconds left, by the wall clock, bounded by the steady clock. */
export function remainingMs(until: number): () => number {
  const steady = performance.now() + (until - Date.now());
  return () => Math.min(until - Date.now(), steady - performance.now());
}

/** Returns the delay before retry `nth` (from 0) of a rate limit without a reset time, doubled up to half an hour. */
export function rateLimitWait(env: NodeJS.ProcessEnv, nth: number): number {
  return doubled(env, 'RALPH_RATE_LIMIT_WAIT', nth, 60_000, 30 * 60_000);
}

/** Returns the delay before retry `nth` (from 0), doubled up to `most`; the variable `name` sets the first one. */
export function doubled(env: NodeJS.ProcessEnv, name: string, nth: number, otherwise: number, most: number): number {
  const first = durationIn(env, name, otherwise);
  return Math.min(first * 2 ** nth, Math.max(first, most));
}

/** Returns the duration that a variable sets. Throws RalphError `usage` for an invalid one. */
export function durationIn(env: NodeJS.ProcessEnv, name: string, otherwise: number): number {
  const named = env[name];
  const milliseconds = named ? parseDuration(named) : otherwise;
  if (milliseconds !== null && milliseconds > 0) return milliseconds;
  throw new RalphError('usage', `Invalid ${name} "${named}": use a duration such as 90s or 5m, longer than 0.`);
}
