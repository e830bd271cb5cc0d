import { exitCode } from '../../engine/exit-code.ts';
import { spentOf, totalCost } from '../../engine/policy/budget.ts';
import { untilTimeUp } from '../../engine/policy/loop-time.ts';
import type { RunnerEventOf } from '../../engine/runner-event.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import type { FinishedRun } from '../../hosts/agent/agent-run.ts';
import { holdEvidence } from '../../state/evidence/held-digests.ts';
import { removeIfThere } from '../../state/files/regular-file.ts';
import { show } from '../../state/process/program.ts';
import { endedState } from '../../state/with-state.ts';
import { lastWordsText } from '../../text/excerpt.ts';
import { about, RalphError } from '../../text/message.ts';
import { instantOf } from '../../text/time.ts';
import { endTurn } from '../effects/end-turn.ts';
import { runEffects } from '../effects/run-effects.ts';
import { exportTelemetry } from '../records/export-telemetry.ts';
import { deliverOutbox } from '../records/journal.ts';
import { loopStarted, recordLive } from '../records/live-events.ts';
import type { StartedLoop } from '../start/stages.ts';
import { reportAtEnd } from '../status/end-report.ts';
import { isVerified, standing, undeliveredText } from '../status/ended-loop.ts';
import { endLeftRunning, leftRunningText } from '../status/left-running.ts';
import type { Dispatched, Driver, Prompt, Turn } from '../turn/turn.ts';
import { dispatch, isStep, startFreshTurn } from '../turn/turn.ts';
import { waitStep, waitUntil } from '../turn/wait.ts';
import { handleSignals, leaveIt, liveControls } from './handle-signals.ts';
import { takeLease } from './lease.ts';
import { RUNNER_TEXTS } from './messages.ts';
import { runAgent } from './run-agent.ts';
import type { Runner, RunnerOptions } from './runner.ts';
import { backOff, MOST_RETRIES, newRunner, now, takeIteration, tellChecklist } from './runner.ts';
import { waitForResume, watchOperator } from './watch-operator.ts';

/** Drives a loop to its end under its lease, and always ends its agent. Calls `start` once the lease is held. */
export async function runLoop(
  files: StartedLoop['files'],
  start: () => StartedLoop,
  optionsFor: (started: StartedLoop) => RunnerOptions,
): Promise<RunnerEnd> {
  let lost = false;
  let runner: Runner | null = null;
  const lease = takeLease(files, () => {
    lost = true;
    runner?.leave.abort('lease-lost');
    runner?.agent?.end('interrupt');
  });
  try {
    await lease.alone;
    deliverOutbox(files, now());
    const started = start();
    const given = optionsFor(started);
    const options = { ...given, tell: recordLive(files, started.state, given.tell) };
    runner = newRunner(started, options, lease);
    if (lost) runner.leave.abort('lease-lost');
    const quiet = [holdEvidence(files, started.loopId), handleSignals(runner), watchOperator(runner)];
    try {
      options.tell(loopStarted(started.state));
      options.live?.(liveControls(runner));
      const { turn, effects } = startFreshTurn(runner.begun);
      const end = await runEffects(turn, runnerDriver(runner), effects);
      removeIfThere(files.outbox);
      return await tellEnd(runner, end);
    } catch (error) {
      if (!(error instanceof RalphError)) throw error;
      if (error.code === 'no-loop') {
        throw new RalphError(
          'no-loop',
          about(RUNNER_TEXTS.takenAway(error.message), { name: files.name, mode: 'runner' }),
          error,
        );
      }
      if (error.code !== 'state-fenced') throw error;
      // Another runner wrote the state before this one noticed that its lease was lost.
      runner.leave.abort('lease-lost');
      return await tellEnd(runner, runnerEnd(runner, started.state));
    } finally {
      for (const stop of quiet) stop();
      runner.agent?.end('interrupt');
      await runner.agent?.done;
    }
  } finally {
    lease.release();
  }
}

/** Drives a loop with a fresh agent for each iteration, in its own process. */
function runnerDriver(runner: Runner): Driver<RunnerEnd> {
  const { options } = runner;
  return {
    deliver: (turn, prompt) => deliverPrompt(runner, turn, prompt),
    wait: waitStep,
    release: async (turn) => {
      const resumed = await waitForResume(runner, turn);
      return resumed ? startFreshTurn(turn) : { answer: runnerEnd(runner, turn.loaded.state) };
    },
    notify: ({ loaded: { state } }, message) => {
      // The engine's message about a limit is for sessions; the runner announces its own wait.
      if (state.status === 'paused' && state.paused.reason === 'rate-limited') return;
      options.tell({ type: 'agent.notice', message });
    },
    tell: options.tell,
    leave: (turn) => runnerEnd(runner, turn.loaded.state),
  };
}

/** Runs an agent on the prompt, retries failed runs, and reports the end of the turn. */
async function deliverPrompt(runner: Runner, begun: Turn, prompt: Prompt): Promise<Dispatched> {
  const { steering } = prompt.step;
  let ready: Dispatched = { turn: begun, effects: [] };
  while (!ready.effects.some(isStep) && !begun.signal.aborted) {
    if (steering.length > 0 && runner.failures === 0) {
      runner.options.tell({ type: 'steering.sent', texts: steering.map(({ text }) => text) });
    }
    const held = await heldBack(runner, ready.turn);
    if (held !== null) return held;
    const { turn, run } = await runAgent(runner, ready.turn, prompt);
    if (turn.signal.aborted) return { turn, effects: [] };
    const after = await outcomeOf(runner, turn, run);
    if (after !== 'retry') return after;
    ready = dispatch(turn, { type: 'prompt-made', at: turn.context.now(), outcome: 'ready' });
  }
  return ready;
}

/** Returns the next effects if concurrent loops leave nothing for another agent run; null if it may start. */
async function heldBack(runner: Runner, turn: Turn): Promise<Dispatched | null> {
  const { options } = runner;
  if (options.askPermit === undefined) return null;
  const asked = options.askPermit(spentOf(turn.loaded.state.usage));
  const permit = await Promise.race([asked, aborted(turn.signal)]);
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
        error: { kind: 'rate-limited', message: SHARED_LIMIT, resetsAt },
      });
    }
    case 'budget':
      return dispatch(turn, { type: 'shared-budget-reached', at, reading: permit.reading });
    case 'leave':
      leaveIt(runner);
      return { turn, effects: [] };
    default:
      return permit satisfies never;
  }
}

function aborted(signal: AbortSignal): Promise<null> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(null);
    signal.addEventListener('abort', () => resolve(null), { once: true });
  });
}

const SHARED_LIMIT = 'Another loop has met the rate limit of the account.';

async function outcomeOf(runner: Runner, turn: Turn, run: FinishedRun): Promise<Dispatched | 'retry'> {
  const { outcome } = run;
  if (outcome.kind !== 'overloaded' && outcome.kind !== 'crashed') runner.failures = 0;
  if (outcome.kind !== 'rate-limited') runner.limits = 0;
  if (runner.interrupted) return pauseInterrupted(runner, turn, run);
  const at = turn.context.now();
  switch (outcome.kind) {
    case 'ok':
    // Not a failure of the iteration: the engine ends the loop by its budget.
    case 'over-budget':
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
      return dispatch(turn, { type: 'agent-failed', at, message: RUNNER_TEXTS.refused(outcome.kind, outcome.message) });
    case 'overloaded':
    case 'crashed': {
      const message = outcome.message + lastWordsText(run.complaint);
      if (runner.failures < MOST_RETRIES) return waitForRetry(runner, turn, message);
      return dispatch(turn, { type: 'agent-failed', at, message: RUNNER_TEXTS.gaveUp(message) });
    }
    default:
      return outcome satisfies never;
  }
}

/** Ends the turn of a counted run, including the usage of failed runs before it. */
async function endIteration(
  runner: Runner,
  turn: Turn,
  run: FinishedRun,
  error: string | null,
  timedOut = false,
): Promise<Dispatched> {
  const { facts } = run;
  const ended = await endTurn(turn, {
    text: error === null && !timedOut ? (facts.result?.text ?? '') : '',
    origin: 'loop',
    promptId: null,
    sessionId: facts.sessionId ?? '',
    run: {
      // The agent's usage was counted while it ran.
      error,
      timedOut,
      usage: null,
      costUsd: null,
      callsUnknown: facts.toolCalls === null,
      transcriptMark: turn.context.now(),
    },
    agent: { model: facts.model, turns: facts.result?.turns ?? null, ...takeIteration(runner) },
  });
  tellChecklist(runner, ended.turn.loaded.state.checklist);
  await exportTelemetry(runner.files, ended.turn.loaded.state, runner.options.env);
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

async function waitForRetry(runner: Runner, turn: Turn, message: string): Promise<'retry'> {
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

type RunnerEnd = RunnerEventOf<'run.ended'>;

/** Returns how the loop ended or was left, with the exit code. `last` is its last known state. */
function runnerEnd({ files, loopId, options }: Runner, last: LoopState): RunnerEnd {
  const { status, state, message } = standing(files, loopId);
  const { iteration, usage } = state ?? last;
  const hasLeft = status === 'interrupted' && state?.status !== 'ended';
  return {
    type: 'run.ended',
    status,
    message: show(hasLeft || message === null ? RUNNER_TEXTS.left : message, { name: files.name, mode: 'runner' }),
    ...(state?.status === 'ended' && state.ended.text !== undefined && { text: state.ended.text }),
    code: exitCode(status, options.requiresProof && !isVerified(state)),
    iterations: iteration,
    costUsd: totalCost(usage),
  };
}

/** Reports the end to the user, with the messages that no agent received. */
async function tellEnd({ leave, files, loopId, options }: Runner, end: RunnerEnd): Promise<RunnerEnd> {
  const lost = leave.signal.reason === 'lease-lost';
  const told: RunnerEnd = lost
    ? { ...end, status: 'error', message: RUNNER_TEXTS.leaseLost, code: exitCode('error') }
    : end;
  const ended = lost ? null : endedState(files, loopId);
  const message = ended && undeliveredText(ended);
  if (message !== null) options.tell({ type: 'agent.notice', message });
  // Before the report: what runs on could change the project behind it.
  const left = lost ? null : ended === null ? leftRunningText(loopId) : await endLeftRunning(loopId);
  if (left !== null) options.tell({ type: 'agent.notice', message: left });
  const report = ended && (await reportAtEnd(files, ended, options.env));
  const reported: RunnerEnd = report === null ? told : { ...told, report };
  options.tell(reported);
  if (ended !== null) await exportTelemetry(files, ended, options.env);
  return reported;
}
