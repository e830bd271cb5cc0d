import { once } from 'node:events';
import { windowText } from '../../engine/messages.ts';
import { reachedWindow, spentOf } from '../../engine/policy/budget.ts';
import { isWaited, untilTimeUp } from '../../engine/policy/loop-time.ts';
import type { FinishedRun } from '../../hosts/agent/agent-run.ts';
import { finalMessage } from '../../hosts/agent/classify-run.ts';
import { readLoop } from '../../state/loop-files.ts';
import { missingProgram, show } from '../../state/process/program.ts';
import { lastWordsText } from '../../text/quote.ts';
import { instantOf } from '../../text/time.ts';
import { operate } from '../control/operate.ts';
import { endTurn } from '../effects/end-turn.ts';
import { exportTelemetry } from '../records/export-telemetry.ts';
import { iterationStarted } from '../records/live-events.ts';
import { LAUNCH_TEXTS } from '../turn/messages.ts';
import { type Dispatched, dispatch, isStep, type Prompt, type Turn } from '../turn/turn.ts';
import { rateLimitWait, waitUntil } from '../turn/wait.ts';
import { attempt, leaveIt } from './handle-signals.ts';
import { RUNNER_TEXTS } from './messages.ts';
import { runAgent } from './run-agent.ts';
import { backOff, MOST_RETRIES, now, type Runner, takeIteration, tellChecklist } from './runner.ts';
import { tellArrived } from './watch-operator.ts';

/** Runs an agent on the prompt, retries failed runs, and reports the end of the turn. */
export async function deliverPrompt(runner: Runner, begun: Turn, prompt: Prompt): Promise<Dispatched> {
  const { steering } = prompt.step;
  // The iteration before it and its checks are in the stream only now.
  await exportTelemetry(runner.files, begun.loaded.state, runner.options.env);
  let ready: Dispatched = { turn: begun, effects: [] };
  while (!ready.effects.some(isStep) && !begun.signal().aborted) {
    if (steering.length > 0 && runner.failures === 0) tellArrived(runner, steering);
    const held = await heldBack(runner, ready.turn);
    if (held !== null) return held;
    const { turn, after } = await runOnce(runner, ready.turn, prompt);
    if (after !== 'retry') return after;
    ready = dispatch(turn, { type: 'prompt-made', at: turn.context.now(), outcome: 'ready' });
    if (!ready.effects.some(isStep)) runner.options.tell(iterationStarted(ready.turn.loaded.state));
  }
  return ready;
}

/** Runs the agent, unless the program was removed: then every call of a client is denied, and the run is in vain. */
async function runOnce(
  runner: Runner,
  begun: Turn,
  prompt: Prompt,
): Promise<{ turn: Turn; after: Dispatched | 'retry' }> {
  const { agent, bundleDir = null } = begun.loaded.stored?.contract ?? {};
  const gone = agent === undefined ? missingProgram(bundleDir) : null;
  if (gone !== null) return { turn: begun, after: await tryAgain(runner, begun, LAUNCH_TEXTS.programGone(gone)) };
  const { turn, run } = await runAgent(runner, begun, prompt);
  return { turn, after: turn.signal().aborted ? { turn, effects: [] } : await outcomeOf(runner, turn, run) };
}

/** Asks the supervisor whether the agent may run. Returns null if so, else the effects to run instead. */
async function heldBack(runner: Runner, turn: Turn): Promise<Dispatched | null> {
  const { options } = runner;
  if (options.askPermit === undefined) return null;
  const signal = turn.signal();
  const asked = options.askPermit(spentOf(turn.loaded.state.usage));
  const permit = signal.aborted ? null : await Promise.race([asked, once(signal, 'abort').then(() => null)]);
  if (permit === null) return { turn, effects: [] };
  const at = turn.context.now();
  switch (permit.kind) {
    case 'go':
      runner.shared = permit.allowance;
      return null;
    case 'hold': {
      const { until: resetsAt } = permit;
      return dispatch(turn, {
        type: 'api-error',
        at,
        error: { kind: 'rate-limited', message: RUNNER_TEXTS.sharedLimit, resetsAt },
      });
    }
    case 'budget': {
      const { reading, more } = permit;
      return dispatch(turn, { type: 'shared-budget-reached', at, reading, more });
    }
    case 'leave':
      leaveIt(runner);
      return { turn, effects: [] };
    default:
      return permit satisfies never;
  }
}

async function outcomeOf(runner: Runner, turn: Turn, run: FinishedRun): Promise<Dispatched | 'retry'> {
  const { outcome } = run;
  if (outcome.kind !== 'overloaded' && outcome.kind !== 'crashed') runner.failures = 0;
  if (outcome.kind !== 'rate-limited') runner.limits = 0;
  if (runner.interrupted) return pauseInterrupted(runner, turn, run);
  const at = turn.context.now();
  switch (outcome.kind) {
    case 'ok':
    case 'over-budget':
      // An agent that ended at the loop's budget has not failed: the engine ends the loop.
      return endIteration(runner, turn, run, null);
    case 'out-of-time':
      return endIteration(runner, turn, run, null, true);
    case 'interrupted':
    case 'refusal':
    case 'max-turns':
    case 'prompt-too-long':
    case 'hung':
    case 'other':
      return endIteration(runner, turn, run, outcome.message);
    case 'rate-limited': {
      const { kind, message, resetsAt } = outcome;
      return dispatch(turn, { type: 'api-error', at, error: { kind, message, resetsAt } });
    }
    case 'authentication':
    case 'billing':
    case 'invalid-request':
    case 'unguarded':
    case 'options':
      return dispatch(turn, {
        type: 'agent-failed',
        at,
        message: RUNNER_TEXTS.refused(outcome.kind, outcome.message, turn.loaded.stored?.contract.host),
      });
    case 'overloaded':
    case 'crashed':
      return tryAgain(runner, turn, outcome.message + lastWordsText(run.complaint));
    default:
      return outcome satisfies never;
  }
}

/** Ends the turn of a run that counts as an iteration, with the usage of the failed runs before it. */
async function endIteration(
  runner: Runner,
  turn: Turn,
  run: FinishedRun,
  error: string | null,
  timedOut = false,
): Promise<Dispatched> {
  const { facts } = run;
  const ended = await endTurn(turn, {
    text: error === null && !timedOut ? finalMessage(facts) : '',
    origin: 'loop',
    promptId: null,
    sessionId: facts.sessionId ?? '',
    run: {
      error,
      timedOut,
      // Usage and cost were counted while the agent ran.
      usage: null,
      costUsd: null,
      callsUnknown: facts.toolCalls === null,
      transcriptMark: turn.context.now(),
    },
    agent: {
      model: facts.model,
      turns: facts.result?.turns ?? null,
      ...(facts.sessionId !== null && { sessionId: facts.sessionId }),
      ...takeIteration(runner),
    },
  });
  tellChecklist(runner, ended.turn.loaded.state.checklist);
  return ended;
}

/** Pauses the loop after the user interrupted the agent. A run that had already finished counts. */
async function pauseInterrupted(runner: Runner, turn: Turn, run: FinishedRun): Promise<Dispatched> {
  let ended: Dispatched = { turn, effects: [] };
  if (run.outcome.kind === 'ok') {
    ended = await endIteration(runner, turn, run, null);
  } else {
    const { restored } = turn.loaded;
    if (restored !== null) runner.options.tell({ type: 'agent.notice', message: restored });
  }
  if (ended.effects.some(({ type }) => type === 'verify' || type === 'allow')) return ended;
  const paused = dispatch(ended.turn, { type: 'interrupted', at: turn.context.now(), by: 'signal' });
  return { turn: paused.turn, effects: [...ended.effects.filter((effect) => !isStep(effect)), ...paused.effects] };
}

/** Waits before another run, or ends the loop after too many failures. */
async function tryAgain(runner: Runner, turn: Turn, message: string): Promise<Dispatched | 'retry'> {
  if (runner.failures < MOST_RETRIES) return waitForRetry(runner, turn, message);
  return dispatch(turn, { type: 'agent-failed', at: turn.context.now(), message: RUNNER_TEXTS.gaveUp(message) });
}

/** Waits before a failed run is repeated, longer after each failure. */
export async function waitForRetry(runner: Runner, turn: Turn, message: string): Promise<'retry'> {
  const { options, leave, files, loopId } = runner;
  if (readLoop(files, loopId)?.stopRequested) return 'retry';
  const delay = backOff(options.timeouts.retryMs, runner.failures, Math.random());
  runner.failures += 1;
  options.tell({ type: 'agent.notice', message: RUNNER_TEXTS.retry(message, delay, runner.failures, MOST_RETRIES) });
  const { state, policy } = turn.loaded;
  const at = untilTimeUp(state, policy.budget, turn.context.now(), instantOf(Date.now() + delay));
  options.tell({ type: 'wait.started', why: 'retry', until: at });
  const woken = new AbortController();
  runner.retryNow = () => woken.abort();
  const signal = AbortSignal.any([leave.signal, woken.signal]);
  await waitUntil(turn, { until: Date.parse(at), deadline: turn.deadline, signal, state, taskPath: null });
  runner.retryNow = null;
  return 'retry';
}

/** Extra wait after the reset time of a rate limit. */
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
    const why =
      window === null ? LAUNCH_TEXTS.waitingForLimit(at, resumesAt !== null) : show(windowText(window), state);
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
  // The user may have paused, resumed or ended the loop at the last moment.
  if (end === 'elapsed') {
    attempt(runner, () =>
      operate(files, options.env, now(), (state) =>
        isWaited(state) ? { kind: 'resume', by: 'launcher' } : { kind: 'wake' },
      ),
    );
  }
  const current = readLoop(files, loopId);
  if (current?.status !== 'paused') return current?.status === 'running';
  return waitForResume(runner, { ...turn, loaded: { ...turn.loaded, state: current } });
}

function untilOf(runner: Runner, resumesAt: string | null): number {
  if (resumesAt !== null) return Math.max(Date.now(), Date.parse(resumesAt)) + MARGIN_MS;
  const wait = rateLimitWait(runner.options.env, runner.limits);
  runner.limits += 1;
  return Date.now() + wait;
}
