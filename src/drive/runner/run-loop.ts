import type { Effect } from '../../engine/effects.ts';
import { exitCode } from '../../engine/exit-code.ts';
import type { RunnerEvent } from '../../engine/runner-event.ts';
import type { LoopState } from '../../engine/schema/state.ts';
import { readContract } from '../../state/contract-store.ts';
import { readState } from '../../state/read-state.ts';
import { RalphError } from '../../text/ralph-error.ts';
import { forgetDue, tellDue } from '../records/outbox.ts';
import type { StartedLoop } from '../start/start-loop.ts';
import { endedLoop, endedState, unheard } from '../status/ended-loop.ts';
import { HOOK_TEXTS, LAUNCH_TEXTS } from '../turn/messages.ts';
import { carryOutAlike, look, verifyStep, waitStep } from '../turn/shared-steps.ts';
import { beginAnew } from '../turn/turn.ts';
import { hearSignals, liveControls } from './handle-signals.ts';
import { iterate } from './iterate.ts';
import { takeLease } from './lease.ts';
import { inRunner, RUNNER_TEXTS } from './messages.ts';
import { newRunner, type Runner, type RunnerOptions } from './runner.ts';
import { listenToOthers, rest } from './watch-operator.ts';

export type RunnerEnd = Extract<RunnerEvent, { type: 'loop-ended' }>;

/**
 * Drives a loop to its end, each iteration in an agent of its own, under the loop's lease: `start` is called once that is
 * held, and what it throws is thrown. However this ends, no agent is left.
 */
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
    tellDue(files, new Date().toISOString());
    const started = start();
    const options = optionsFor(started);
    runner = newRunner(started, options, lease);
    if (lost) runner.leave.abort('lease-lost');
    const quiet = [hearSignals(runner), listenToOthers(runner)];
    try {
      tellStart(started, options);
      options.live?.(liveControls(runner));
      const end = await drive(runner);
      forgetDue(files);
      return tellEnd(runner, end);
    } catch (error) {
      if (!(error instanceof RalphError)) throw error;
      if (error.code === 'no-loop') {
        throw new RalphError('no-loop', inRunner(RUNNER_TEXTS.takenAway(error.message), files.name), error);
      }
      if (error.code !== 'state-fenced') throw error;
      // Another runner wrote the state before this one had noticed that its lease is gone.
      runner.leave.abort('lease-lost');
      return tellEnd(runner, settle(runner));
    } finally {
      for (const stop of quiet) stop();
      runner.agent?.end('interrupt');
      await runner.agent?.done;
    }
  } finally {
    lease.release();
  }
}

/** Carries out what the engine decides, until the loop is over or the runner has to leave. */
async function drive(runner: Runner): Promise<RunnerEnd> {
  const { files, options, leave } = runner;
  let effects = beginAnew(runner.turn);
  for (;;) {
    const { turn } = runner;
    const step = carryOutAlike(turn, effects);
    tellNotes(runner, effects);
    if (leave.signal.aborted) return settle(runner);
    switch (step?.type) {
      case 'prompt': {
        // A contract that the user has accepted meanwhile counts from this iteration on.
        const stored = readContract(files);
        if (stored?.contract.loopId !== runner.loopId) return settle(runner);
        turn.loaded = { ...turn.loaded, stored, policy: stored.contract.policy };
        effects = await iterate(runner, step, stored);
        break;
      }
      case 'wait': {
        const why = turn.loaded.state.status === 'waiting' ? (turn.loaded.state.waiting.why ?? 'idle') : 'idle';
        if (turn.task) turn.task.waited = true;
        options.tell({ type: 'waiting', why, until: step.until });
        effects = await waitStep(turn, step.until);
        break;
      }
      case 'look':
        effects = await look(turn);
        break;
      case 'verify':
        options.tell({ type: 'verifying' });
        effects = await verifyStep(turn);
        break;
      case 'allow':
      case 'ignore':
      case undefined: {
        const resumed = await rest(runner);
        if (!resumed) return settle(runner);
        effects = beginAnew(runner.turn);
        break;
      }
      default:
        step satisfies never;
    }
  }
}

function tellStart({ loopId, files, stored, state }: StartedLoop, { tell }: RunnerOptions): void {
  const { iteration, maxIterations, startedAt, usage } = state;
  const { costUsd, costBaseUsd: _, ...tokens } = usage;
  const stands = { iteration, maxIterations, startedAt, costUsd, usage: tokens };
  tell({ type: 'loop-started', loopId, name: files.name, taskPath: stored.contract.taskPath, ...stands });
}

/** What the engine says of a limit is for a session; the runner says itself how it waits. */
function tellNotes({ files, options, turn }: Runner, effects: readonly Effect[]): void {
  const { state } = turn.loaded;
  if (state.status === 'paused' && state.paused.reason === 'rate-limited') return;
  for (const effect of effects) {
    if (effect.type === 'notify') options.tell({ type: 'notice', message: inRunner(effect.message, files.name) });
  }
}

function tellEnd(runner: Runner, end: RunnerEnd): RunnerEnd {
  const lost = runner.leave.signal.reason === 'lease-lost';
  const told: RunnerEnd = lost
    ? { ...end, status: 'error', message: RUNNER_TEXTS.leaseLost, code: exitCode('error') }
    : end;
  const ended = lost ? null : endedState(runner.files, runner.loopId);
  const message = ended && unheard(ended);
  if (message !== null) runner.options.tell({ type: 'notice', message: inRunner(message, runner.files.name) });
  runner.options.tell(told);
  return told;
}

type End = Extract<RunnerEvent, { type: 'loop-ended' }>;

/** How the loop stands now that the runner leaves it, and with which exit code. */
export function settle({ files, loopId, turn }: Runner): End {
  const end = endOf(files.name);
  const current = readState(files.state);
  const live = current.kind === 'loop' && current.state.loopId === loopId ? current.state : null;
  if (live?.status === 'paused') {
    const { reason, message } = live.paused;
    if (reason === 'interrupted') return end(live, 'interrupted', RUNNER_TEXTS.left);
    return end(live, 'paused', `${message} ${RUNNER_TEXTS.pausedThere}`);
  }
  if (live !== null && live.status !== 'ended') return end(live, 'interrupted', RUNNER_TEXTS.left);
  const { state } = turn.loaded;
  // Whoever ends a loop drops its contract: while that stands, the archive says nothing that could be believed.
  if (readContract(files)?.contract.loopId === loopId) return end(state, 'error', HOOK_TEXTS.vanished);
  const ended = endedLoop(files, loopId);
  return ended === null ? end(state, 'error', LAUNCH_TEXTS.unknownEnd) : end(state, ended.as, ended.message);
}

function endOf(name: string | null): (state: LoopState, status: End['status'], message: string) => End {
  return ({ iteration, usage }, status, message) => ({
    type: 'loop-ended',
    status,
    message: inRunner(message, name),
    code: exitCode(status),
    iterations: iteration,
    costUsd: usage.costUsd,
  });
}
