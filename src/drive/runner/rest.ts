import { readState } from '../../state/read-state.ts';
import { operate } from '../operate.ts';
import { rateLimitWait } from '../rate-limit-wait.ts';
import { waitOut } from '../turn/wait-out.ts';
import type { Runner } from './runner.ts';
import { inRunner, RUNNER_TEXTS } from './texts.ts';

/** A limit has surely reset a second after the client says so. */
const MARGIN_MS = 1_000;

/**
 * The engine has let the agent go. Waits while the loop is paused by a rate limit or by the user: true when it goes on
 * again, false when it is over, or nothing here will make it go on.
 */
export async function rest(runner: Runner): Promise<boolean> {
  const { turn, leave, options, files, loopId } = runner;
  const { state } = turn.loaded;
  if (state.status !== 'paused') return false;
  const { reason, resumesAt } = state.paused;
  if (reason !== 'rate-limited' && reason !== 'operator' && reason !== 'interrupted') return false;
  const limited = reason === 'rate-limited';
  const until = limited ? untilOf(runner, resumesAt) : Number.POSITIVE_INFINITY;
  if (limited) {
    const at = new Date(until).toISOString();
    options.tell({ type: 'notice', message: RUNNER_TEXTS.waitingForLimit(at) });
    options.tell({ type: 'waiting', why: 'rate-limit', until: at });
  } else {
    const message = reason === 'operator' ? RUNNER_TEXTS.pausedByUser : RUNNER_TEXTS.interrupted;
    options.tell({ type: 'notice', message: inRunner(message, files.name) });
    options.tell({ type: 'paused', reason });
  }
  const end = await waitOut(turn.context, {
    until,
    deadline: turn.deadline,
    signal: leave.signal,
    state,
    taskPath: null,
  });
  if (end === 'aborted') return false;
  if (end === 'elapsed') {
    operate(files, options.env, turn.context.now(), () => ({ kind: 'resume', by: 'launcher' }));
  }
  const now = readState(files.state);
  return now.kind === 'loop' && now.state.loopId === loopId && now.state.status === 'running';
}

function untilOf(runner: Runner, resumesAt: string | null): number {
  if (resumesAt !== null) return Math.max(Date.now(), Date.parse(resumesAt)) + MARGIN_MS;
  const wait = rateLimitWait(runner.options.env, runner.limits);
  runner.limits += 1;
  return Date.now() + wait;
}
