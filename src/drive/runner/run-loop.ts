import { holdEvidence } from '../../state/evidence/evidence.ts';
import { removeIfThere } from '../../state/files/regular-file.ts';
import { about, RalphError } from '../../text/message.ts';
import { runEffects } from '../effects/run-effects.ts';
import { deliverOutbox } from '../records/journal.ts';
import { loopStarted, recordLive } from '../records/live-events.ts';
import type { StartedLoop } from '../start/stages.ts';
import { type Driver, startFreshTurn } from '../turn/turn.ts';
import { waitStep } from '../turn/wait.ts';
import { deliverPrompt, waitForResume } from './deliver-prompt.ts';
import { handleSignals, liveControls } from './handle-signals.ts';
import { takeLease } from './lease.ts';
import { RUNNER_TEXTS } from './messages.ts';
import { newRunner, now, type Runner, type RunnerOptions } from './runner.ts';
import { type RunnerEnd, runnerEnd, tellEnd } from './runner-end.ts';
import { watchOperator } from './watch-operator.ts';

/** Drives a loop to its end under its lease, and always ends its agent. Calls `start` once the lease is held. */
export async function runLoop(
  files: StartedLoop['files'],
  start: () => StartedLoop | Promise<StartedLoop>,
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
    const started = await start();
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
    tell: (_, event) => options.tell(event),
    leave: (turn) => runnerEnd(runner, turn.loaded.state),
  };
}
