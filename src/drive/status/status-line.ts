import { isFinishing } from '../../engine/initial-state.ts';
import { currentIteration, pausedText } from '../../engine/messages.ts';
import { addUsage } from '../../engine/policy/budget.ts';
import { timeSpent } from '../../engine/policy/loop-time.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { LoopFiles } from '../../state/loop-files.ts';
import { withPrefix } from '../../state/process/program.ts';
import { listArchive } from '../../state/with-state.ts';
import { dollarText } from '../../text/figures.ts';
import { statusWords } from '../../text/status-words.ts';
import { elapsed, formatDuration } from '../../text/time.ts';
import { awaitedOfUser, type DriverWait, driverWait, presentState } from '../control/present-state.ts';
import { reportedCost, storeCost } from '../records/client-figures.ts';

const USER_LINE_TIMEOUT = 5_000;

/** Prints the loop's line, a pause's message and the user's own status line; stores the cost from the client's `input`. */
export async function printStatusLine(
  input: string,
  files: LoopFiles,
  env: NodeJS.ProcessEnv,
  at: string,
  out: (line: string) => void,
): Promise<void> {
  storeCost(files, input, at);
  const state = shownLoop(files, env);
  if (state !== null) {
    const needs = awaitedOfUser(state) === 'message' ? 'waiting for your message' : null;
    const awaited = needs ?? waitText(driverWait(state, files, at), at);
    out(loopStatusLine(state, at, reportedCost(input)?.costUsd ?? null, awaited));
    // The client drops the message of an interrupted hook (Esc) and of StopFailure (measured).
    if (state.status === 'paused') {
      // Its end says how to go on. The client indents each line by two cells, and cuts it.
      const { wrapText } = await import('../../term/write-text.ts');
      out(wrapText(withPrefix(state.paused.message), Number(env['COLUMNS']) - 4 || Number.POSITIVE_INFINITY));
    }
  }
  const own = env['RALPH_USER_STATUS_LINE'];
  if (!own) return;
  const { spawnSync } = await import('node:child_process');
  const { stdout } = spawnSync(own, { shell: true, input, encoding: 'utf8', timeout: USER_LINE_TIMEOUT });
  if (stdout.trim() !== '') out(stdout.replace(/\n$/, ''));
}

/** Returns the live loop or this session's ended one; null if none. Called too often for a LoopReport. */
function shownLoop(files: LoopFiles, env: NodeJS.ProcessEnv): LoopState | null {
  const current = presentState(files);
  if (current.kind === 'loop') return current.state;
  const last = env['RALPH_LOOP_ID'] ? listArchive(files, 1)[0]?.content : undefined;
  return last?.kind === 'loop' && last.state.loopId === env['RALPH_LOOP_ID'] ? last.state : null;
}

/** Returns `ralph: NAME │ running │ iter 7/25 │ 12m │ $0.85`, with a countdown while the loop waits, and what it waits for. */
export function loopStatusLine(
  state: LoopState,
  at: string,
  sessionCost: number | null,
  awaited: string | null = null,
): string {
  const { maxIterations, usage } = state;
  // The loop's own cost: its earlier cost, and the growth of the session's cost since the loop began in it.
  const { costUsd } = addUsage(usage, null, state.status === 'ended' ? null : sessionCost);
  return [
    `ralph: ${state.name ?? 'default'}`,
    awaited ?? statusText(state, at),
    `iter ${currentIteration(state)}/${maxIterations}`,
    formatDuration(Math.max(1_000, timeSpent(state, at))),
    ...(costUsd === null ? [] : [dollarText(costUsd)]),
  ].join(' │ ');
}

function waitText(wait: DriverWait | null, at: string): string | null {
  if (wait?.why !== 'background') return null;
  return `waiting for background work, at most ${formatDuration(Math.ceil(elapsed(at, wait.until) / 1_000) * 1_000)}`;
}

function statusText(state: LoopState, at: string): string {
  switch (state.status) {
    case 'waiting': {
      // A message of the user has ended the hook that waited; the Stop after the answer continues the wait.
      if (state.turn === 'user') return 'waiting for the next answer';
      if (state.waiting.woken) return 'waking';
      const next = state.waiting.why === 'pace' ? 'waiting, next iteration' : 'idle, wakes';
      const left = Math.ceil(elapsed(at, state.waiting.until) / 1_000) * 1_000;
      // After `/clear` a due iteration waits for the user's next message.
      return `${next} ${left > 0 ? `in ${formatDuration(left)}` : 'is due'}`;
    }
    case 'paused':
      return pausedText(state.paused.reason, isFinishing(state));
    case 'ended':
      return statusWords(state.ended.as);
    case 'running':
      return state.stopRequested ? 'running, stops after this iteration' : 'running';
    case 'verifying':
    case 'awaiting-consent':
      return state.status;
    default:
      return state satisfies never;
  }
}
