import { windowText } from '../../engine/messages.ts';
import { reachedWindow } from '../../engine/policy/budget.ts';
import { untilTimeUp } from '../../engine/policy/loop-time.ts';
import { readLoop } from '../../state/loop-files.ts';
import { show } from '../../state/process/program.ts';
import { instantOf } from '../../text/time.ts';
import { operate } from '../control/operate.ts';
import type { Turn } from '../turn/turn.ts';
import { rateLimitWait, waitUntil } from '../turn/wait.ts';
import { RUNNER_TEXTS } from './messages.ts';
import { backOff, MOST_RETRIES, now, type Runner } from './runner.ts';

/** Waits before a failed run is repeated, longer after each failure. */
export async function waitForRetry(runner: Runner, turn: Turn, message: string): Promise<'retry'> {
  const { options, leave } = runner;
  const delay = backOff(options.timeouts.retryMs, runner.failures, Math.random());
  runner.failures += 1;
  options.tell({ type: 'agent.notice', message: RUNNER_TEXTS.retry(message, delay, runner.failures, MOST_RETRIES) });
  const { state, policy } = turn.loaded;
  const at = untilTimeUp(state, policy.budget, turn.context.now(), instantOf(Date.now() + delay));
  options.tell({ type: 'wait.started', why: 'retry', until: at });
  const now = new AbortController();
  runner.retryNow = () => now.abort();
  const signal = AbortSignal.any([leave.signal, now.signal]);
  await waitUntil(turn, { until: Date.parse(at), deadline: turn.deadline, signal, state, taskPath: null });
  runner.retryNow = null;
  return 'retry';
}

/** Margin after the reset time of a rate limit. */
const MARGIN_MS = 1_000;

/** Waits while a rate limit or the user pauses the loop. Returns whether it was resumed. */
export async function waitForResume(runner: Runner, turn: Turn): Promise<boolean> {
  const { leave, options, files, loopId } = runner;
  const { state, policy } = turn.loaded;
  const { budget } = policy;
  if (state.status !== 'paused') return false;
  const { reason, resumesAt } = state.paused;
  if (reason !== 'rate-limited' && reason !== 'operator' && reason !== 'interrupted') return false;
  const limited = reason === 'rate-limited';
  const reset = limited ? untilOf(runner, resumesAt) : Number.POSITIVE_INFINITY;
  const until = limited ? Date.parse(untilTimeUp(state, budget, now(), instantOf(reset))) : reset;
  if (limited) {
    const at = instantOf(reset);
    const window = reachedWindow(state.limits, budget, now());
    const why = window === null ? RUNNER_TEXTS.waitingForLimit(at) : show(windowText(window), state);
    options.tell({ type: 'agent.notice', message: why });
    options.tell({ type: 'wait.started', why: 'rate-limit', until: instantOf(until) });
  } else {
    const message = reason === 'operator' ? RUNNER_TEXTS.pausedByUser : RUNNER_TEXTS.interrupted;
    options.tell({ type: 'agent.notice', message: show(message, turn.loaded.state) });
    options.tell({ type: 'loop.paused', reason });
  }
  const { deadline } = turn;
  const end = await waitUntil(turn, { until, deadline, signal: leave.signal, state, taskPath: null });
  if (end === 'aborted') return false;
  if (end === 'elapsed') operate(files, options.env, now(), () => ({ kind: 'resume', by: 'launcher' }));
  return readLoop(files, loopId)?.status === 'running';
}

function untilOf(runner: Runner, resumesAt: string | null): number {
  if (resumesAt !== null) return Math.max(Date.now(), Date.parse(resumesAt)) + MARGIN_MS;
  const wait = rateLimitWait(runner.options.env, runner.limits);
  runner.limits += 1;
  return Date.now() + wait;
}
